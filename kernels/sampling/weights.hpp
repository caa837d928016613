// Weights: the scans over a whole row of logits, written so that a compiler vectorises them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace tickertape::kernels::sampling {

/// Weights are multiples of this, so that sums of up to 2^19 of them are exact in double: the order
/// of additions cannot change a draw. A token less likely than this times the best one is never
/// drawn.
inline constexpr float kWeightQuantum = 0x1p-34F;

/// Tokens per entry of the block sums.
inline constexpr std::size_t kBlockSize = 256;

struct LogitRange {
  float max = 0;             ///< Meaningless when `bad_numbers`.
  bool bad_numbers = false;  ///< NaN or +infinity is among them.
};

/// The largest logit. REQUIRES: not empty.
[[nodiscard]] LogitRange find_range(std::span<const float> logits) noexcept;

/// The lowest index of `value`. REQUIRES: it is among them.
[[nodiscard]] std::size_t find_first(std::span<const float> values, float value) noexcept;

/// True when one of the values is larger than `bound`.
[[nodiscard]] bool any_above(std::span<const float> values, float bound) noexcept;

/// exp((logit - max) * inverse_temperature), rounded to kWeightQuantum: relative error below 5e-6
/// before the rounding, 1 for the largest logit, 0 for minus infinity. Weights below `min_weight`
/// become 0. block_sums has ceil(logits.size() / kBlockSize) entries. Returns the sum of all.
double compute_weights(std::span<const float> logits, float max, double inverse_temperature,
                       float min_weight, std::span<float> weights,
                       std::span<double> block_sums) noexcept;

/// The sums of kBlockSize weights each, the last of fewer; returns the sum of all.
double sum_blocks(std::span<const float> weights, std::span<double> block_sums) noexcept;

}  // namespace tickertape::kernels::sampling
