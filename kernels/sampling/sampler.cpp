// sample_row and sample_token: the steps, the filters and one draw.
#include "kernels/sampling/sampler.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <tickertape/assert.hpp>

#include "kernels/sampling/logit_steps.hpp"
#include "kernels/sampling/mass_cut.hpp"
#include "kernels/sampling/philox.hpp"
#include "kernels/sampling/typicality.hpp"
#include "kernels/sampling/weights.hpp"

namespace tickertape::kernels::sampling {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// A row whose numbers are known to be good, and what is asked of it.
struct Draw {
  std::span<const float> logits;
  float max = 0;
  double inverse_temperature = 1;
  double typical_p = 1;
  double top_p = 1;
  float min_p = 0;
  double uniform = 1;  ///< In (0, 1].
};

[[nodiscard]] double sum_weights(std::span<const Candidate> candidates) noexcept {
  double sum = 0;
  for (const Candidate& candidate : candidates) sum += candidate.weight;
  return sum;
}

/// The token at which the running sum in id order reaches the drawn share: its weight is not 0.
[[nodiscard]] TokenId draw_from_row(const Draw& draw, double total, const SamplerScratch& scratch) {
  const double target = draw.uniform * total;
  double sum = 0;
  std::size_t block = 0;
  const std::size_t last_block = scratch.block_sums.size() - 1;
  while (block < last_block && sum + scratch.block_sums[block] < target) {
    sum += scratch.block_sums[block++];
  }
  std::size_t token = block * kBlockSize;
  const std::size_t last = std::min(token + kBlockSize, scratch.weights.size()) - 1;
  while (token < last && (sum += scratch.weights[token]) < target) ++token;
  return static_cast<TokenId>(token);
}

/// Keeps the typical candidates; returns the mass that is left.
[[nodiscard]] double keep_typical(const Draw& draw, double total,
                                  std::vector<Candidate>& candidates) {
  std::erase_if(candidates, [](const Candidate& c) { return c.weight == 0; });
  double mean = 0;
  for (const Candidate& c : candidates) mean += c.weight * (double{c.logit} - draw.max);
  mean /= total;
  for (Candidate& c : candidates) c.logit = typicality(c.logit, draw.max, mean);
  candidates.resize(select_mass(candidates, draw.typical_p * total, BetterFirst{}));
  for (Candidate& c : candidates) c.logit = draw.logits[static_cast<std::size_t>(c.token)];
  return sum_weights(candidates);
}

/// typical_p, top_p and min_p among candidates that have their weights, then the draw.
[[nodiscard]] TokenId draw_from_candidates(const Draw& draw, double total,
                                           std::vector<Candidate>& candidates) {
  if (draw.typical_p < 1) total = keep_typical(draw, total, candidates);
  if (draw.top_p < 1) {
    candidates.resize(select_mass(candidates, draw.top_p * total, BetterFirst{}));
  }
  if (draw.min_p > 0) {
    float best = 0;
    for (const Candidate& c : candidates) best = std::max(best, c.weight);
    std::erase_if(candidates, [&](const Candidate& c) { return c.weight < draw.min_p * best; });
  }
  const double target = draw.uniform * sum_weights(candidates);
  return candidates[select_mass(candidates, target, LowerIdFirst{}) - 1].token;
}

[[nodiscard]] TokenId sample_top_k(const Draw& draw, std::size_t top_k, SamplerScratch& scratch) {
  std::vector<Candidate>& candidates = scratch.candidates;
  find_best(draw.logits, top_k, candidates);
  // The weights of a token are the same numbers whichever filters are on.
  std::vector<float>& logits = scratch.kept_logits;
  logits.resize(candidates.size());
  for (std::size_t i = 0; i < candidates.size(); ++i) logits[i] = candidates[i].logit;
  scratch.weights.resize(candidates.size());
  scratch.block_sums.resize((candidates.size() + kBlockSize - 1) / kBlockSize);
  const double total = compute_weights(logits, draw.max, draw.inverse_temperature, 0,
                                       scratch.weights, scratch.block_sums);
  for (std::size_t i = 0; i < candidates.size(); ++i) candidates[i].weight = scratch.weights[i];
  return draw_from_candidates(draw, total, candidates);
}

/// Keeps the typical tokens of the row; returns the mass that is left.
[[nodiscard]] double keep_typical_of_row(const Draw& draw, double total, SamplerScratch& scratch) {
  const double mean = mean_below(draw.logits, scratch.weights, draw.max, total);
  scratch.kept_logits.resize(draw.logits.size());
  typicalities(draw.logits, draw.max, mean, scratch.kept_logits);
  const MassCut cut =
      find_cut(scratch.kept_logits, scratch.weights, draw.typical_p * total, 0, scratch.candidates);
  apply_cut(scratch.kept_logits, cut, 0, scratch.weights);
  return sum_blocks(scratch.weights, scratch.block_sums);
}

void keep_top_p_of_row(const Draw& draw, double total, SamplerScratch& scratch) {
  // Tokens lighter than this cannot matter: all of them together weigh less than what top_p leaves
  // out. The margin covers rounding.
  const double share = (1 - draw.top_p) * total / static_cast<double>(draw.logits.size());
  const auto bound = static_cast<float>(share * 0.99);
  const MassCut cut =
      find_cut(draw.logits, scratch.weights, draw.top_p * total, bound, scratch.candidates);
  apply_cut(draw.logits, cut, bound, scratch.weights);
}

[[nodiscard]] TokenId sample_whole_row(const Draw& draw, SamplerScratch& scratch) {
  const std::size_t num_tokens = draw.logits.size();
  const bool only_min_p = draw.typical_p >= 1 && draw.top_p >= 1;
  scratch.weights.resize(num_tokens);
  scratch.block_sums.resize((num_tokens + kBlockSize - 1) / kBlockSize);
  double total =
      compute_weights(draw.logits, draw.max, draw.inverse_temperature,
                      only_min_p ? draw.min_p : 0.0F, scratch.weights, scratch.block_sums);
  if (!only_min_p) {
    if (draw.typical_p < 1) total = keep_typical_of_row(draw, total, scratch);
    if (draw.top_p < 1) keep_top_p_of_row(draw, total, scratch);
    if (draw.min_p > 0) {
      drop_light(scratch.weights, draw.min_p * find_range(scratch.weights).max);
    }
    total = sum_blocks(scratch.weights, scratch.block_sums);
  }
  return draw_from_row(draw, total, scratch);
}

}  // namespace

bool has_bad_numbers(std::span<const float> logits, std::uint32_t num_tokens) noexcept {
  TICKERTAPE_ASSERT(num_tokens > 0 && num_tokens <= logits.size());
  const LogitRange range = find_range(logits.first(num_tokens));
  return range.bad_numbers || range.max == -kInfinity;
}

SampleResult sample_token(std::span<const float> logits, std::uint32_t num_tokens,
                          const SamplingParams& params, std::uint64_t seed, std::uint32_t choice,
                          std::uint64_t position, SamplerScratch& scratch) {
  TICKERTAPE_ASSERT(num_tokens > 0 && num_tokens <= logits.size());
  Draw draw;
  draw.logits = logits.first(num_tokens);
  const LogitRange range = find_range(draw.logits);
  if (range.bad_numbers || range.max == -kInfinity) return {-1, true};
  draw.max = range.max;

  const auto temperature = static_cast<float>(params.temperature);
  draw.typical_p = params.typical_p;
  const bool best_first = draw.typical_p >= 1 && params.top_p <= 0;
  const bool greedy = !(temperature > 0) || !std::isfinite(1.0F / temperature);
  if (greedy || params.top_k == 1 || best_first) {
    return {static_cast<TokenId>(find_first(draw.logits, draw.max)), false};
  }
  draw.inverse_temperature = 1.0 / params.temperature;
  draw.top_p = params.top_p;
  draw.min_p = static_cast<float>(std::min(params.min_p, 1.0));
  draw.uniform = philox_uniform(seed, choice, position);
  const bool with_top_k = params.top_k > 0 && static_cast<std::uint32_t>(params.top_k) < num_tokens;
  const TokenId token = with_top_k
                            ? sample_top_k(draw, static_cast<std::size_t>(params.top_k), scratch)
                            : sample_whole_row(draw, scratch);
  return {token, false};
}

RowSample sample_row(std::span<const float> logits, std::uint32_t num_tokens,
                     const SlotSampling& slot, std::uint32_t num_known,
                     std::span<const std::uint64_t> mask, SamplerScratch& scratch) {
  TICKERTAPE_ASSERT(num_tokens > 0 && num_tokens <= logits.size());
  TICKERTAPE_ASSERT(mask.empty() || mask.size() * 64 >= num_tokens);
  RowSample row;
  row.logits = logits.first(num_tokens);
  if (!mask.empty() || slot.changes_logits(num_known)) {
    row.bad_numbers = has_bad_numbers(row.logits, num_tokens);
    if (row.bad_numbers) return row;
    std::vector<float>& changed = scratch.changed_logits;
    changed.assign(row.logits.begin(), row.logits.end());
    row.fault = apply_logit_steps(slot, num_known, mask, changed, scratch.history);
    if (!row.fault.empty()) return row;
    row.logits = changed;
  }
  const SampleResult result = sample_token(row.logits, num_tokens, slot.params(), slot.seed(),
                                           slot.choice(), num_known, scratch);
  row.token = result.token;
  row.bad_numbers = result.bad_numbers;
  return row;
}

}  // namespace tickertape::kernels::sampling
