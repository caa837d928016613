// A tokenizer with the extra tokens of a script.
#include "kernels/fake/scripted_tokenizer.hpp"

#include <algorithm>
#include <utility>

#include <tickertape/assert.hpp>

namespace tickertape::kernels::fake {

ScriptedTokenizer::ScriptedTokenizer(std::shared_ptr<const Tokenizer> base,
                                     std::vector<std::string> pieces)
    : base_(std::move(base)), pieces_(std::move(pieces)), longest_token_(base_->longest_token()) {
  for (const std::string& piece : pieces_) longest_token_ = std::max(longest_token_, piece.size());
}

std::string_view ScriptedTokenizer::bytes(TokenId id) const {
  TICKERTAPE_ASSERT(id >= 0 && static_cast<std::size_t>(id) < vocab_size());
  const auto index = static_cast<std::size_t>(id);
  return index < base_->vocab_size() ? base_->bytes(id) : pieces_[index - base_->vocab_size()];
}

}  // namespace tickertape::kernels::fake
