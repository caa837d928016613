// The counting of tokens.
#include "kernels/sampling/token_history.hpp"

#include <tickertape/assert.hpp>

namespace tickertape::kernels::sampling {

TokenHistory::TokenHistory(std::span<const TokenId> tokens, std::uint32_t prompt_length,
                           bool with_counts)
    : prompt_length_(prompt_length), with_counts_(with_counts) {
  tokens_.reserve(tokens.size());
  for (const TokenId token : tokens) push(token);
}

void TokenHistory::push(TokenId token) {
  if (with_counts_) ++counter(token, tokens_.size());
  tokens_.push_back(token);
}

void TokenHistory::truncate(std::size_t size) {
  TICKERTAPE_ASSERT(size <= tokens_.size());
  while (tokens_.size() > size) {
    const TokenId token = tokens_.back();
    tokens_.pop_back();
    if (with_counts_) --counter(token, tokens_.size());
  }
}

std::uint32_t& TokenHistory::counter(TokenId token, std::size_t position) {
  const auto [found, is_new] = index_.try_emplace(token, counts_.size());
  if (is_new) counts_.push_back({token, 0, 0});
  Count& count = counts_[found->second];
  return position < prompt_length_ ? count.in_prompt : count.generated;
}

}  // namespace tickertape::kernels::sampling
