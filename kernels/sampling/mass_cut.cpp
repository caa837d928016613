// The cut by a histogram over the scores.
#include "kernels/sampling/mass_cut.hpp"

#include <array>
#include <bit>
#include <cstdint>
#include <limits>

#include <tickertape/assert.hpp>

namespace tickertape::kernels::sampling {
namespace {

constexpr std::uint32_t kNumBins = 2048;

/// Falling scores in steps of equal size: a token of a higher score is never in a higher bin.
/// Scores that do not count, NaN's products too, are in some bin.
struct Bins {
  float highest = 0;
  float scale = 0;

  [[nodiscard]] std::uint32_t of(float score) const noexcept {
    const float place = (highest - score) * scale;
    constexpr auto kLast = static_cast<float>(kNumBins - 1);
    const float in_range = place > 0 ? place : 0.0F;
    return static_cast<std::uint32_t>(in_range < kLast ? in_range : kLast);
  }
};

/// Bins over the scores of all tokens above `bound`.
[[nodiscard]] Bins make_bins(std::span<const float> scores, std::span<const float> weights,
                             float bound) noexcept {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr std::size_t kLanes = 16;
  std::array<float, kLanes> highest;
  std::array<float, kLanes> lowest;
  highest.fill(-kInfinity);
  lowest.fill(kInfinity);
  const auto add = [&](std::size_t lane, std::size_t i) {
    const bool counts = weights[i] > bound;
    const float high = counts ? scores[i] : -kInfinity;
    const float low = counts ? scores[i] : kInfinity;
    highest[lane] = high > highest[lane] ? high : highest[lane];
    lowest[lane] = low < lowest[lane] ? low : lowest[lane];
  };
  const std::size_t whole = scores.size() / kLanes * kLanes;
  for (std::size_t first = 0; first < whole; first += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) add(lane, first + lane);
  }
  for (std::size_t i = whole; i < scores.size(); ++i) add(i - whole, i);
  for (std::size_t lane = 1; lane < kLanes; ++lane) {
    highest[0] = highest[lane] > highest[0] ? highest[lane] : highest[0];
    lowest[0] = lowest[lane] < lowest[0] ? lowest[lane] : lowest[0];
  }
  const float scale = static_cast<float>(kNumBins) / (highest[0] - lowest[0]);
  // One bin where all scores are equal, or too near each other to be told apart.
  return {highest[0], scale <= std::numeric_limits<float>::max() ? scale : 0.0F};
}

}  // namespace

MassCut find_cut(std::span<const float> scores, std::span<const float> weights, double mass,
                 float bound, std::vector<Candidate>& scratch) {
  const Bins bins = make_bins(scores, weights, bound);
  std::array<double, kNumBins> sums{};
  for (std::size_t i = 0; i < scores.size(); ++i) {
    // Light ones add nothing, each to another bin: a branch could not be guessed, and additions to
    // the same bin would wait for each other.
    const std::uint32_t heavy = weights[i] > bound ? ~0U : 0U;
    const auto other_bin = static_cast<std::uint32_t>(i) % kNumBins;
    const std::uint32_t bin = (bins.of(scores[i]) & heavy) | (other_bin & ~heavy);
    sums[bin] += std::bit_cast<float>(std::bit_cast<std::uint32_t>(weights[i]) & heavy);
  }
  std::uint32_t border = 0;
  double before = 0;
  double sum = 0;
  for (std::uint32_t bin = 0; bin < kNumBins && (sum == 0 || sum < mass); ++bin) {
    if (sums[bin] == 0) continue;  // Whatever is above the bound has a weight.
    border = bin;
    before = sum;
    sum += sums[bin];
  }
  scratch.clear();
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const std::uint32_t heavy = weights[i] > bound ? 1U : 0U;
    const std::uint32_t here = bins.of(scores[i]) == border ? 1U : 0U;
    if ((heavy & here) != 0) {
      scratch.push_back({scores[i], weights[i], static_cast<TokenId>(i)});
    }
  }
  TICKERTAPE_ASSERT(!scratch.empty());
  const Candidate& last = scratch[select_mass(scratch, mass, BetterFirst{}, before) - 1];
  return {last.logit, last.token};
}

void apply_cut(std::span<const float> scores, MassCut cut, float bound,
               std::span<float> weights) noexcept {
  const float* score = scores.data();
  float* weight = weights.data();
  const auto size = static_cast<TokenId>(scores.size());
  for (TokenId i = 0; i < size; ++i) {
    const std::uint32_t higher = score[i] > cut.score ? 1U : 0U;
    const std::uint32_t tied = score[i] == cut.score ? 1U : 0U;
    const std::uint32_t low_id = i <= cut.token ? 1U : 0U;
    const std::uint32_t heavy = weight[i] > bound ? 1U : 0U;
    weight[i] = ((higher | (tied & low_id)) & heavy) != 0 ? weight[i] : 0.0F;
  }
}

void drop_light(std::span<float> weights, float min_weight) noexcept {
  for (float& weight : weights) weight = weight < min_weight ? 0.0F : weight;
}

}  // namespace tickertape::kernels::sampling
