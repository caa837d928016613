// Log-probabilities for a token that nobody computed any for.
#pragma once
#include <algorithm>
#include <cstdint>

#include <tickertape/batch.hpp>

namespace tickertape::kernels::fake {

/// log(0.9): how likely a token is when nothing else is said.
inline constexpr float kLogOfNineTenths = -0.105360516F;

/// Adds an output position of `row` to the result: `token` with `logprob`, and as many others as
/// the row asks for: the ids after it, each less than half as likely as the one before.
inline void push_logprobs(const Row& row, TokenId token, float logprob, std::uint32_t vocab_size,
                          BatchResult& result) {
  PositionLogprobs& out = result.logprobs.emplace_back();
  out.chosen = {token, logprob};
  out.first_top = static_cast<std::uint32_t>(result.top.size());
  out.num_top = std::min(static_cast<std::uint32_t>(std::max(row.num_logprobs, 0)), vocab_size);
  for (std::uint32_t rank = 0; rank < out.num_top; ++rank) {
    const auto id = (static_cast<std::uint32_t>(token) + rank) % vocab_size;
    const float less = rank == 0 ? 0.0F : 2.0F + static_cast<float>(rank);
    result.top.push_back({static_cast<TokenId>(id), std::max(logprob - less, kLogprobFloor)});
  }
}

}  // namespace tickertape::kernels::fake
