// Selections among candidates without sorting a vocabulary.
#include "kernels/sampling/candidates.hpp"

#include <algorithm>
#include <limits>

#include "kernels/sampling/weights.hpp"

namespace tickertape::kernels::sampling {
namespace {

template <class Less>
std::size_t select_prefix(std::span<Candidate> candidates, double mass, double before, Less less) {
  constexpr std::size_t kSortBelow = 32;
  std::size_t low = 0;  // `before` has the weights of [0, low): exact in whatever order.
  std::size_t high = candidates.size();
  // Rows full of ties come in order.
  const bool sorted = std::is_sorted(candidates.begin(), candidates.end(), less);
  while (!sorted && high - low > kSortBelow) {
    const std::size_t middle = low + (high - low) / 2;
    std::nth_element(candidates.begin() + low, candidates.begin() + middle,
                     candidates.begin() + high, less);
    double half = 0;
    for (std::size_t i = low; i < middle; ++i) half += candidates[i].weight;
    if (before + half >= mass) {
      high = middle;
    } else {
      before += half;
      low = middle;
    }
  }
  if (!sorted) std::sort(candidates.begin() + low, candidates.begin() + high, less);
  std::size_t size = low;
  while (size < high && (size == low || before < mass)) before += candidates[size++].weight;
  return size;
}

}  // namespace

void find_best(std::span<const float> logits, std::size_t count, std::vector<Candidate>& best) {
  constexpr std::size_t kStride = 64;
  const std::size_t room = 2 * count;
  best.clear();
  // Once `count` candidates are known, only a logit above the worst of them can displace one:
  // ties lose, since ids rise during the scan.
  bool bounded = false;
  float bound = -std::numeric_limits<float>::infinity();
  const auto shrink = [&] {
    std::nth_element(best.begin(), best.begin() + (count - 1), best.end(), BetterFirst{});
    best.resize(count);
    bound = best.back().logit;
    bounded = true;
  };
  for (std::size_t first = 0; first < logits.size(); first += kStride) {
    const auto stride = logits.subspan(first, std::min(kStride, logits.size() - first));
    if (bounded && !any_above(stride, bound)) continue;
    for (std::size_t i = 0; i < stride.size(); ++i) {
      if (bounded && !(stride[i] > bound)) continue;
      best.push_back({stride[i], 0, static_cast<TokenId>(first + i)});
      if (best.size() >= room) shrink();
    }
  }
  if (best.size() > count) shrink();
}

std::size_t select_mass(std::span<Candidate> candidates, double mass, BetterFirst less,
                        double before) {
  return select_prefix(candidates, mass, before, less);
}

std::size_t select_mass(std::span<Candidate> candidates, double mass, LowerIdFirst less,
                        double before) {
  return select_prefix(candidates, mass, before, less);
}

}  // namespace tickertape::kernels::sampling
