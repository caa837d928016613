// Bans, biases, the processor, penalties.
#include "kernels/sampling/logit_steps.hpp"

#include <algorithm>
#include <cstddef>
#include <exception>
#include <limits>
#include <utility>
#include <vector>

#include "kernels/sampling/weights.hpp"

namespace tickertape::kernels::sampling {
namespace {

constexpr float kImpossible = -std::numeric_limits<float>::infinity();
constexpr const char* kNoneLeft = "no token is possible: ";

[[nodiscard]] bool is_in(TokenId token, std::span<const float> logits) noexcept {
  return token >= 0 && static_cast<std::size_t>(token) < logits.size();
}

/// A number's nearest finite float: only bans make a token impossible.
[[nodiscard]] float to_finite(double logit) noexcept {
  constexpr double kMax = std::numeric_limits<float>::max();
  return static_cast<float>(std::clamp(logit, -kMax, kMax));
}

void keep_only(std::span<const TokenId> allowed, std::span<float> logits) {
  std::vector<std::pair<TokenId, float>> kept;
  kept.reserve(allowed.size());
  for (const TokenId token : allowed) {
    if (is_in(token, logits)) kept.emplace_back(token, logits[static_cast<std::size_t>(token)]);
  }
  std::fill(logits.begin(), logits.end(), kImpossible);
  for (const auto& [token, logit] : kept) logits[static_cast<std::size_t>(token)] = logit;
}

void add_biases(std::span<const LogitBias> biases, std::span<float> logits) {
  for (const LogitBias& bias : biases) {
    if (!is_in(bias.token, logits)) continue;
    float& logit = logits[static_cast<std::size_t>(bias.token)];
    if (logit != kImpossible) logit = to_finite(double{logit} + bias.bias);
  }
}

void penalise(const SamplingParams& params, std::span<const TokenHistory::Count> counts,
              std::span<float> logits) {
  for (const TokenHistory::Count& count : counts) {
    if (count.in_prompt + count.generated == 0 || !is_in(count.token, logits)) continue;
    float& logit = logits[static_cast<std::size_t>(count.token)];
    if (logit == kImpossible) continue;
    double changed = logit;
    changed =
        changed > 0 ? changed / params.repetition_penalty : changed * params.repetition_penalty;
    changed -= params.frequency_penalty * count.generated;
    if (count.generated > 0) changed -= params.presence_penalty;
    logit = to_finite(changed);
  }
}

}  // namespace

void apply_bans(const SlotSampling& slot, std::uint32_t num_known,
                std::span<const std::uint64_t> mask, std::span<float> logits) {
  if (!slot.params().allowed_token_ids.empty()) keep_only(slot.params().allowed_token_ids, logits);
  for (const TokenId token : slot.suppressed(num_known)) {
    if (is_in(token, logits)) logits[static_cast<std::size_t>(token)] = kImpossible;
  }
  if (mask.empty()) return;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (((mask[i / 64] >> (i % 64)) & 1) == 0) logits[i] = kImpossible;
  }
}

std::string run_processor(const SlotSampling& slot, std::uint32_t num_known,
                          std::span<float> logits, TokenHistory& scratch) {
  const std::span<const TokenId> tokens = slot.history(num_known, scratch).tokens();
  const std::size_t prompt_length = std::min<std::size_t>(slot.prompt_length(), tokens.size());
  const LogitContext context{slot.choice(), tokens.first(prompt_length),
                             tokens.subspan(prompt_length)};
  try {
    slot.processor()->process(context, logits);
  } catch (const std::exception& error) {
    return std::string("the logit_processor failed: ") + error.what();
  } catch (...) {
    return "the logit_processor threw something that is no std::exception";
  }
  const LogitRange range = find_range(logits);
  if (range.bad_numbers) {
    const auto bad = std::find_if(logits.begin(), logits.end(), [](float logit) {
      return !(logit < std::numeric_limits<float>::infinity());
    });
    return "the logit_processor gave NaN or plus infinity for token " +
           std::to_string(bad - logits.begin());
  }
  if (range.max == kImpossible) return std::string(kNoneLeft) + "the logit_processor left none";
  return {};
}

std::string apply_logit_steps(const SlotSampling& slot, std::uint32_t num_known,
                              std::span<const std::uint64_t> mask, std::span<float> logits,
                              TokenHistory& scratch) {
  apply_bans(slot, num_known, mask, logits);
  if (find_range(logits).max == kImpossible) {
    const char* bans = mask.empty() ? "allowed_token_ids and min_tokens leave none"
                                    : "allowed_token_ids, min_tokens and the mask leave none";
    return std::string(kNoneLeft) + bans;
  }
  add_biases(slot.params().logit_bias, logits);
  if (slot.processor() != nullptr) {
    if (std::string fault = run_processor(slot, num_known, logits, scratch); !fault.empty()) {
      return fault;
    }
  }
  if (slot.has_penalties()) {
    penalise(slot.params(), slot.history(num_known, scratch).counts(), logits);
  }
  return {};
}

}  // namespace tickertape::kernels::sampling
