// Logit steps: what a request changes in a row of logits before a token is drawn.
#pragma once
#include <cstdint>
#include <span>
#include <string>

#include "kernels/sampling/slot_sampling.hpp"

namespace tickertape::kernels::sampling {

/// Steps 1 to 4 of SamplingParams' list on the row that follows the first `num_known` tokens, in
/// place. `mask`: one bit per id, 1 = allowed, part of step 1; empty = all. Ids beyond the row are
/// left out. A logit that is finite stays finite, whatever is added or multiplied.
///
/// Returns an empty text, or why no token can be drawn: none is possible, or the LogitProcessor
/// failed; the row is then of no use. Linear in the row, and in the tokens that occurred.
/// REQUIRES: no NaN, no plus infinity, something but minus infinity.
[[nodiscard]] std::string apply_logit_steps(const SlotSampling& slot, std::uint32_t num_known,
                                            std::span<const std::uint64_t> mask,
                                            std::span<float> logits, TokenHistory& scratch);

/// Sets to minus infinity what step 1 makes impossible.
void apply_bans(const SlotSampling& slot, std::uint32_t num_known,
                std::span<const std::uint64_t> mask, std::span<float> logits);

/// Step 3 on a row, with what the processor throws, and what it must not write, as a text.
[[nodiscard]] std::string run_processor(const SlotSampling& slot, std::uint32_t num_known,
                                        std::span<float> logits, TokenHistory& scratch);

}  // namespace tickertape::kernels::sampling
