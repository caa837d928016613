// Typicality: how near a token's surprise is to the entropy of its distribution.
#pragma once
#include <cmath>
#include <span>

namespace tickertape::kernels::sampling {

/// Of two tokens the more typical one has the larger number; at most 0. Surprise less entropy is
/// the mean logit less the token's own, so it needs no logarithm (Meister et al. 2023, section 4).
/// `mean`: see mean_below. REQUIRES: logit <= max.
[[nodiscard]] inline float typicality(float logit, float max, double mean) noexcept {
  return -static_cast<float>(std::abs(double{logit} - max - mean));
}

/// The mean of (logit - max) under the weights, whose sum is `total`. Tokens of weight 0 are left
/// out.
[[nodiscard]] double mean_below(std::span<const float> logits, std::span<const float> weights,
                                float max, double total) noexcept;

/// typicality() of a whole row.
void typicalities(std::span<const float> logits, float max, double mean,
                  std::span<float> out) noexcept;

}  // namespace tickertape::kernels::sampling
