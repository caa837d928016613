// position_logprobs: log-softmax at the chosen and at the most likely tokens.
#include <algorithm>
#include <cmath>

#include <tickertape/assert.hpp>

#include "kernels/sampling/sampler.hpp"
#include "kernels/sampling/weights.hpp"

namespace tickertape::kernels::sampling {

void position_logprobs(std::span<const float> logits, std::uint32_t num_tokens, TokenId chosen,
                       std::int32_t num_logprobs, SamplerScratch& scratch, PositionLogprobs& out,
                       std::vector<TokenLogprob>& top) {
  TICKERTAPE_ASSERT(num_tokens > 0 && num_tokens <= logits.size());
  TICKERTAPE_ASSERT(chosen >= 0 && static_cast<std::uint32_t>(chosen) < num_tokens);
  const std::span<const float> row = logits.first(num_tokens);
  const double max = find_range(row).max;
  double sum = 0;
  for (const float logit : row) sum += std::exp(logit - max);
  const double log_sum = std::log(sum);
  const auto logprob_of = [&](float logit) {
    return std::max(static_cast<float>(logit - max - log_sum), kLogprobFloor);
  };

  out.chosen = {chosen, logprob_of(row[static_cast<std::size_t>(chosen)])};
  out.first_top = static_cast<std::uint32_t>(top.size());
  out.num_top = 0;
  if (num_logprobs <= 0) return;
  find_best(row, static_cast<std::size_t>(num_logprobs), scratch.candidates);
  for (const Candidate& best : scratch.candidates) {
    top.push_back({best.token, logprob_of(best.logit)});
  }
  out.num_top = static_cast<std::uint32_t>(scratch.candidates.size());
  // By the rounded numbers, so that whoever reads them sees them in order.
  std::sort(top.begin() + out.first_top, top.end(), [](const auto& a, const auto& b) {
    return a.logprob != b.logprob ? a.logprob > b.logprob : a.token < b.token;
  });
}

}  // namespace tickertape::kernels::sampling
