// The scans of weights.hpp.
#include "kernels/sampling/weights.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

namespace tickertape::kernels::sampling {
namespace {

constexpr std::size_t kLanes = 16;

/// exp2 of `exponent` <= 0, rounded to kWeightQuantum; 0 below it.
inline float quantised_exp2(float exponent) noexcept {
  constexpr float kLowest = -36.0F;             // Below the quantum in any case.
  constexpr float kRoundToInteger = 0x1.8p23F;  // Adding it leaves no room for a fraction.
  constexpr float kQuantumRounding = 0x1p-11F;  // Floats of this size are kWeightQuantum apart.
  const float clamped = exponent > kLowest ? exponent : kLowest;
  const float shifted = clamped + kRoundToInteger;
  const float fraction = clamped - (shifted - kRoundToInteger);  // In [-0.5, 0.5].
  // The series of exp(fraction * ln 2): the next term is below 1.3e-7.
  float power = 1.540353039338161e-4F;
  power = power * fraction + 1.333355814642844e-3F;
  power = power * fraction + 9.618129107628477e-3F;
  power = power * fraction + 5.550410866482158e-2F;
  power = power * fraction + 2.402265069591007e-1F;
  power = power * fraction + 6.931471805599453e-1F;
  power = power * fraction + 1.0F;
  const std::uint32_t scale_bits = (std::bit_cast<std::uint32_t>(shifted) + 127U) << 23;
  const float weight = power * std::bit_cast<float>(scale_bits);
  const float rounded = (weight + kQuantumRounding) - kQuantumRounding;
  return weight < kQuantumRounding ? rounded : weight;
}

}  // namespace

LogitRange find_range(std::span<const float> logits) noexcept {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  std::array<float, kLanes> maxima;
  std::array<std::uint32_t, kLanes> bad{};
  maxima.fill(-kInfinity);
  const std::size_t whole = logits.size() / kLanes * kLanes;
  for (std::size_t first = 0; first < whole; first += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const float logit = logits[first + lane];
      maxima[lane] = logit > maxima[lane] ? logit : maxima[lane];
      bad[lane] |= logit < kInfinity ? 0U : 1U;  // NaN compares false.
    }
  }
  LogitRange range{*std::max_element(maxima.begin(), maxima.end()), false};
  for (const std::uint32_t lane : bad) range.bad_numbers |= lane != 0;
  for (std::size_t i = whole; i < logits.size(); ++i) {
    range.max = logits[i] > range.max ? logits[i] : range.max;
    range.bad_numbers |= !(logits[i] < kInfinity);
  }
  return range;
}

std::size_t find_first(std::span<const float> values, float value) noexcept {
  return static_cast<std::size_t>(std::find(values.begin(), values.end(), value) - values.begin());
}

bool any_above(std::span<const float> values, float bound) noexcept {
  std::uint32_t above = 0;
  for (const float value : values) above |= value > bound ? 1U : 0U;
  return above != 0;
}

double compute_weights(std::span<const float> logits, float max, double inverse_temperature,
                       float min_weight, std::span<float> weights,
                       std::span<double> block_sums) noexcept {
  constexpr double kLog2OfE = 1.4426950408889634;
  const float scale = static_cast<float>(
      std::min(inverse_temperature * kLog2OfE, double{std::numeric_limits<float>::max()}));
  const float* in = logits.data();
  float* out = weights.data();
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const float weight = quantised_exp2((in[i] - max) * scale);
    out[i] = weight < min_weight ? 0.0F : weight;
  }
  return sum_blocks(weights, block_sums);
}

double sum_blocks(std::span<const float> weights, std::span<double> block_sums) noexcept {
  double total = 0;
  for (std::size_t block = 0; block < block_sums.size(); ++block) {
    const std::size_t first = block * kBlockSize;
    const std::size_t count = std::min(kBlockSize, weights.size() - first);
    const float* in = weights.data() + first;
    std::array<double, 4> sums{};
    std::size_t i = 0;
    for (; i + 4 <= count; i += 4) {
      for (std::size_t lane = 0; lane < 4; ++lane) sums[lane] += in[i + lane];
    }
    for (; i < count; ++i) sums[0] += in[i];
    block_sums[block] = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    total += block_sums[block];
  }
  return total;
}

}  // namespace tickertape::kernels::sampling
