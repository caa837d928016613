// Sampler: from a row of logits to a token and to log-probabilities.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include <tickertape/batch.hpp>
#include <tickertape/sampling.hpp>

#include "kernels/sampling/candidates.hpp"

namespace tickertape::kernels::sampling {

struct SampleResult {
  TokenId token = -1;        ///< -1 exactly when `bad_numbers`.
  bool bad_numbers = false;  ///< NaN or +infinity met, or no token is possible.
};

/// Memory that is used again from row to row; results never depend on what it held. One per thread.
struct SamplerScratch {
  std::vector<float> masked_logits;
  std::vector<float> weights;
  std::vector<double> block_sums;
  std::vector<Candidate> candidates;
};

/// True when the row holds NaN or +infinity, or nothing but minus infinity.
[[nodiscard]] bool has_bad_numbers(std::span<const float> logits,
                                   std::uint32_t num_tokens) noexcept;

/// Chooses the token that follows `position`. Filters as SamplingParams says, each over what the
/// one before left: temperature, top_k, top_p, min_p; the best token (lowest id of ties) always
/// stays, and among equal ones a cut keeps the lower ids. Then one draw over what is left, in id
/// order, by philox_uniform(seed, choice, position). A temperature of 0, or one whose inverse is no
/// finite float, takes the best token.
///
/// `logits` may be wider than `num_tokens`: ids from there on are never chosen. `mask`, when not
/// empty, has one bit per id, 1 = allowed. Depends on nothing but its arguments. O(num_tokens).
/// REQUIRES: 0 < num_tokens <= logits.size(), 64 * mask.size() >= num_tokens.
[[nodiscard]] SampleResult sample_token(std::span<const float> logits, std::uint32_t num_tokens,
                                        const SamplingParams& params, std::uint64_t seed,
                                        std::uint32_t choice, std::uint64_t position,
                                        SamplerScratch& scratch,
                                        std::span<const std::uint64_t> mask = {});

/// The log-softmax of the bare logits (no temperature, no filter) at `chosen`, and with
/// num_logprobs > 0 that of as many most likely tokens, appended to `top`. Floored at
/// kLogprobFloor. REQUIRES: !has_bad_numbers(logits, num_tokens), 0 <= chosen < num_tokens.
void position_logprobs(std::span<const float> logits, std::uint32_t num_tokens, TokenId chosen,
                       std::int32_t num_logprobs, SamplerScratch& scratch, PositionLogprobs& out,
                       std::vector<TokenLogprob>& top);

}  // namespace tickertape::kernels::sampling
