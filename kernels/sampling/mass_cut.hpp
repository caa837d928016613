// MassCut: the last token of a whole row that a mass like top_p keeps.
#pragma once
#include <span>
#include <vector>

#include <tickertape/tokenizer.hpp>

#include "kernels/sampling/candidates.hpp"

namespace tickertape::kernels::sampling {

/// Tokens of a higher score stay, and of the same score those up to `token`.
struct MassCut {
  float score = 0;
  TokenId token = 0;
};

/// The cut of the least set of tokens of the highest scores whose weights sum up to `mass`, among
/// those of a weight above `bound`: what select_mass() finds, without making candidates of the row.
/// `scores`: the logits for top_p. `scratch` is used for the few tokens around the cut. Linear in
/// the row. REQUIRES: some weight is above `bound` >= 0; scores of such tokens are finite.
[[nodiscard]] MassCut find_cut(std::span<const float> scores, std::span<const float> weights,
                               double mass, float bound, std::vector<Candidate>& scratch);

/// Sets the weights to 0 that are cut off or not above `bound`, the others stay.
void apply_cut(std::span<const float> scores, MassCut cut, float bound,
               std::span<float> weights) noexcept;

/// Sets the weights below `min_weight` to 0.
void drop_light(std::span<float> weights, float min_weight) noexcept;

}  // namespace tickertape::kernels::sampling
