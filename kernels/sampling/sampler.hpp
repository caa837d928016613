// Sampler: from a row of logits to a token and to log-probabilities.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <tickertape/batch.hpp>
#include <tickertape/sampling.hpp>

#include "kernels/sampling/candidates.hpp"
#include "kernels/sampling/slot_sampling.hpp"
#include "kernels/sampling/token_history.hpp"

namespace tickertape::kernels::sampling {

struct SampleResult {
  TokenId token = -1;        ///< -1 exactly when `bad_numbers`.
  bool bad_numbers = false;  ///< NaN or +infinity met, or no token is possible.
};

/// Memory that is used again from row to row; results never depend on what it held. One per thread.
struct SamplerScratch {
  std::vector<float> changed_logits;  ///< The row after step 4, where the steps change it.
  std::vector<float> kept_logits;
  std::vector<float> weights;
  std::vector<double> block_sums;
  std::vector<Candidate> candidates;
  TokenHistory history;
};

/// What came of a row.
struct RowSample {
  TokenId token = -1;        ///< -1 exactly with `bad_numbers` or a fault.
  bool bad_numbers = false;  ///< The model gave NaN, plus infinity, or minus infinity only.
  std::string fault;         ///< See apply_logit_steps; empty when there is none.
  /// The row after step 4, for position_logprobs: the model's own or scratch.changed_logits.
  std::span<const float> logits;
};

/// True when the row holds NaN or +infinity, or nothing but minus infinity.
[[nodiscard]] bool has_bad_numbers(std::span<const float> logits,
                                   std::uint32_t num_tokens) noexcept;

/// Chooses the token that follows the first `num_known` ones of a slot's sequence: steps 1 to 4 of
/// SamplingParams' list (apply_logit_steps), then sample_token with `num_known` as the position.
/// A row that no step changes is not copied. `mask`: see apply_logit_steps.
/// REQUIRES: 0 < num_tokens <= logits.size(), 64 * mask.size() >= num_tokens unless it is empty.
[[nodiscard]] RowSample sample_row(std::span<const float> logits, std::uint32_t num_tokens,
                                   const SlotSampling& slot, std::uint32_t num_known,
                                   std::span<const std::uint64_t> mask, SamplerScratch& scratch);

/// Step 5 of SamplingParams' list and the draw of the token that stands at `position`. Filters,
/// each over what the one before left: temperature, top_k, typical_p, top_p, min_p. All but
/// typical_p keep the best token (lowest id of ties), and among equal ones a cut keeps the lower
/// ids. Then one draw over what is left, in id order, by philox_uniform(seed, choice, position). A
/// temperature of 0, or one whose inverse is no finite float, takes the best token.
///
/// `logits` may be wider than `num_tokens`: ids from there on are never chosen. Depends on nothing
/// but its arguments. O(num_tokens). REQUIRES: 0 < num_tokens <= logits.size().
[[nodiscard]] SampleResult sample_token(std::span<const float> logits, std::uint32_t num_tokens,
                                        const SamplingParams& params, std::uint64_t seed,
                                        std::uint32_t choice, std::uint64_t position,
                                        SamplerScratch& scratch);

/// The log-softmax of the logits as they are (no temperature, no filter) at `chosen`, and with
/// num_logprobs > 0 that of as many most likely tokens, appended to `top`. Floored at
/// kLogprobFloor, where impossible tokens stand.
/// REQUIRES: !has_bad_numbers(logits, num_tokens), 0 <= chosen < num_tokens.
void position_logprobs(std::span<const float> logits, std::uint32_t num_tokens, TokenId chosen,
                       std::int32_t num_logprobs, SamplerScratch& scratch, PositionLogprobs& out,
                       std::vector<TokenLogprob>& top);

}  // namespace tickertape::kernels::sampling
