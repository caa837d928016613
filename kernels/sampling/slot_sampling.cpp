// What of a slot a choice depends on.
#include "kernels/sampling/slot_sampling.hpp"

#include <tickertape/assert.hpp>

namespace tickertape::kernels::sampling {
namespace {

bool penalises(const SamplingParams& params) noexcept {
  return params.repetition_penalty != 1 || params.frequency_penalty != 0 ||
         params.presence_penalty != 0;
}

}  // namespace

SlotSampling::SlotSampling(const OpenedSlot& opened, std::span<const TokenId> tokens)
    : params_(opened.sampling),
      seed_(opened.seed),
      choice_(opened.choice),
      prompt_length_(opened.prompt_length),
      has_penalties_(penalises(opened.sampling)),
      suppressed_(opened.suppressed),
      processor_(opened.processor) {
  if (has_penalties_ || processor_) history_.emplace(tokens, prompt_length_, has_penalties_);
}

void SlotSampling::note(std::uint32_t position, TokenId token) {
  if (!history_) return;
  TICKERTAPE_ASSERT(position <= history_->size());
  if (position < history_->size()) {
    if (history_->tokens()[position] == token) return;
    history_->truncate(position);
  }
  history_->push(token);
}

std::span<const TokenId> SlotSampling::suppressed(std::uint32_t num_known) const noexcept {
  const std::uint64_t end = std::uint64_t{prompt_length_} + params_.min_tokens;
  if (num_known >= end) return {};
  return suppressed_;
}

bool SlotSampling::changes_logits(std::uint32_t num_known) const noexcept {
  return has_penalties_ || processor_ || !params_.logit_bias.empty() ||
         !params_.allowed_token_ids.empty() || !suppressed(num_known).empty();
}

const TokenHistory& SlotSampling::history(std::uint32_t num_known, TokenHistory& scratch) const {
  TICKERTAPE_ASSERT(history_ && num_known <= history_->size());
  if (num_known == history_->size()) return *history_;
  scratch = *history_;
  scratch.truncate(num_known);
  return scratch;
}

}  // namespace tickertape::kernels::sampling
