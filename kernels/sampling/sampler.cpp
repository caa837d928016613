// sample_token: filters and one draw.
#include "kernels/sampling/sampler.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <tickertape/assert.hpp>

#include "kernels/sampling/philox.hpp"
#include "kernels/sampling/weights.hpp"

namespace tickertape::kernels::sampling {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// A row whose numbers are known to be good, and what is asked of it.
struct Draw {
  std::span<const float> logits;
  float max = 0;
  double inverse_temperature = 1;
  double top_p = 1;
  float min_weight = 0;  ///< min_p: the best token's weight is 1.
  double uniform = 1;    ///< In (0, 1].
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

/// top_p and min_p among candidates that have their weights, then the draw.
[[nodiscard]] TokenId draw_from_candidates(const Draw& draw, double total,
                                           std::vector<Candidate>& candidates) {
  if (draw.top_p < 1) {
    candidates.resize(select_mass(candidates, draw.top_p * total, BetterFirst{}));
  }
  if (draw.min_weight > 0) {
    std::erase_if(candidates, [&](const Candidate& c) { return c.weight < draw.min_weight; });
  }
  const double target = draw.uniform * sum_weights(candidates);
  return candidates[select_mass(candidates, target, LowerIdFirst{}) - 1].token;
}

[[nodiscard]] TokenId sample_top_k(const Draw& draw, std::size_t top_k, SamplerScratch& scratch) {
  std::vector<Candidate>& candidates = scratch.candidates;
  find_best(draw.logits, top_k, candidates);
  // The weights of a token are the same numbers whichever filters are on.
  std::vector<float>& logits = scratch.masked_logits;
  logits.resize(candidates.size());
  for (std::size_t i = 0; i < candidates.size(); ++i) logits[i] = candidates[i].logit;
  scratch.weights.resize(candidates.size());
  scratch.block_sums.resize((candidates.size() + kBlockSize - 1) / kBlockSize);
  const double total = compute_weights(logits, draw.max, draw.inverse_temperature, 0,
                                       scratch.weights, scratch.block_sums);
  for (std::size_t i = 0; i < candidates.size(); ++i) candidates[i].weight = scratch.weights[i];
  return draw_from_candidates(draw, total, candidates);
}

[[nodiscard]] TokenId sample_whole_row(const Draw& draw, SamplerScratch& scratch) {
  const std::size_t num_tokens = draw.logits.size();
  const bool with_top_p = draw.top_p < 1;
  scratch.weights.resize(num_tokens);
  scratch.block_sums.resize((num_tokens + kBlockSize - 1) / kBlockSize);
  const double total =
      compute_weights(draw.logits, draw.max, draw.inverse_temperature,
                      with_top_p ? 0.0F : draw.min_weight, scratch.weights, scratch.block_sums);
  if (!with_top_p) return draw_from_row(draw, total, scratch);
  // Tokens lighter than this cannot matter: all of them together weigh less than what top_p leaves
  // out. The margin covers rounding.
  const double share = (1 - draw.top_p) * total / static_cast<double>(num_tokens);
  const float bound = static_cast<float>(share * 0.99);
  std::vector<Candidate>& candidates = scratch.candidates;
  candidates.clear();
  for (std::size_t block = 0; block < scratch.block_sums.size(); ++block) {
    if (scratch.block_sums[block] <= bound) continue;
    const std::size_t end = std::min((block + 1) * kBlockSize, num_tokens);
    for (std::size_t i = block * kBlockSize; i < end; ++i) {
      if (!(scratch.weights[i] > bound)) continue;
      candidates.push_back({draw.logits[i], scratch.weights[i], static_cast<TokenId>(i)});
    }
  }
  return draw_from_candidates(draw, total, candidates);
}

/// The row with minus infinity in place of what the mask forbids.
[[nodiscard]] std::span<const float> apply_mask(std::span<const float> logits,
                                                std::span<const std::uint64_t> mask,
                                                std::vector<float>& masked) {
  masked.assign(logits.begin(), logits.end());
  for (std::size_t i = 0; i < masked.size(); ++i) {
    if (((mask[i / 64] >> (i % 64)) & 1) == 0) masked[i] = -kInfinity;
  }
  return masked;
}

}  // namespace

bool has_bad_numbers(std::span<const float> logits, std::uint32_t num_tokens) noexcept {
  TICKERTAPE_ASSERT(num_tokens > 0 && num_tokens <= logits.size());
  const LogitRange range = find_range(logits.first(num_tokens));
  return range.bad_numbers || range.max == -kInfinity;
}

SampleResult sample_token(std::span<const float> logits, std::uint32_t num_tokens,
                          const SamplingParams& params, std::uint64_t seed, std::uint32_t choice,
                          std::uint64_t position, SamplerScratch& scratch,
                          std::span<const std::uint64_t> mask) {
  TICKERTAPE_ASSERT(num_tokens > 0 && num_tokens <= logits.size());
  TICKERTAPE_ASSERT(mask.empty() || mask.size() * 64 >= num_tokens);
  Draw draw;
  draw.logits = logits.first(num_tokens);
  LogitRange range = find_range(draw.logits);
  if (range.bad_numbers) return {-1, true};
  if (!mask.empty()) {
    draw.logits = apply_mask(draw.logits, mask, scratch.masked_logits);
    range = find_range(draw.logits);
  }
  if (range.max == -kInfinity) return {-1, true};
  draw.max = range.max;

  const auto temperature = static_cast<float>(params.temperature);
  const bool greedy = !(temperature > 0) || !std::isfinite(1.0F / temperature);
  if (greedy || params.top_k == 1 || params.top_p <= 0) {
    return {static_cast<TokenId>(find_first(draw.logits, draw.max)), false};
  }
  draw.inverse_temperature = 1.0 / params.temperature;
  draw.top_p = params.top_p;
  draw.min_weight = static_cast<float>(std::min(params.min_p, 1.0));
  draw.uniform = philox_uniform(seed, choice, position);
  const bool with_top_k = params.top_k > 0 && static_cast<std::uint32_t>(params.top_k) < num_tokens;
  const TokenId token = with_top_k
                            ? sample_top_k(draw, static_cast<std::size_t>(params.top_k), scratch)
                            : sample_whole_row(draw, scratch);
  return {token, false};
}

}  // namespace tickertape::kernels::sampling
