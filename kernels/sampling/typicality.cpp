// Typicality over a row.
#include "kernels/sampling/typicality.hpp"

#include <array>
#include <cstddef>

namespace tickertape::kernels::sampling {

double mean_below(std::span<const float> logits, std::span<const float> weights, float max,
                  double total) noexcept {
  constexpr std::size_t kLanes = 8;  // In a fixed order, whatever the compiler vectorises.
  std::array<double, kLanes> sums{};
  const auto add = [&](std::size_t lane, std::size_t i) {
    // A logit of weight 0 may be minus infinity.
    const double below = weights[i] > 0 ? double{logits[i]} - max : 0.0;
    sums[lane] += weights[i] * below;
  };
  const std::size_t whole = logits.size() / kLanes * kLanes;
  for (std::size_t first = 0; first < whole; first += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) add(lane, first + lane);
  }
  for (std::size_t i = whole; i < logits.size(); ++i) add(i - whole, i);
  double sum = 0;
  for (const double lane : sums) sum += lane;
  return sum / total;
}

void typicalities(std::span<const float> logits, float max, double mean,
                  std::span<float> out) noexcept {
  for (std::size_t i = 0; i < logits.size(); ++i) out[i] = typicality(logits[i], max, mean);
}

}  // namespace tickertape::kernels::sampling
