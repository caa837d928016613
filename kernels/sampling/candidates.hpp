// Candidate: a token that a filter has left over, and the selections made among candidates.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <tickertape/tokenizer.hpp>

namespace tickertape::kernels::sampling {

struct Candidate {
  float logit = 0;
  float weight = 0;  ///< Zero or a multiple of kWeightQuantum.
  TokenId token = 0;
};

/// Total order of candidates: more likely first, then lower id.
struct BetterFirst {
  [[nodiscard]] bool operator()(const Candidate& a, const Candidate& b) const noexcept {
    return a.logit != b.logit ? a.logit > b.logit : a.token < b.token;
  }
};

struct LowerIdFirst {
  [[nodiscard]] bool operator()(const Candidate& a, const Candidate& b) const noexcept {
    return a.token < b.token;
  }
};

/// Puts the `count` best logits into `best`, in no particular order; all when there are fewer.
/// Weights are left 0. Linear in the row; nothing is sorted. REQUIRES: no NaN, count > 0.
void find_best(std::span<const float> logits, std::size_t count, std::vector<Candidate>& best);

/// How many candidates the least prefix of the order has whose weights, and `before`, sum up to
/// `mass`: at least 1, and all when the sum is less. That prefix then stands first, in no
/// particular order, but its last member stands last. Expected linear time. REQUIRES: candidates
/// are not empty.
[[nodiscard]] std::size_t select_mass(std::span<Candidate> candidates, double mass, BetterFirst,
                                      double before = 0);
[[nodiscard]] std::size_t select_mass(std::span<Candidate> candidates, double mass, LowerIdFirst,
                                      double before = 0);

}  // namespace tickertape::kernels::sampling
