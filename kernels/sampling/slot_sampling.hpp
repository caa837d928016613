// SlotSampling: how the tokens of the sequence in a slot are chosen, and what that depends on.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <tickertape/batch.hpp>

#include "kernels/sampling/token_history.hpp"

namespace tickertape::kernels::sampling {

/// What a backend keeps per slot. The tokens are kept only when a penalty or a LogitProcessor looks
/// at them. A slot that was opened with tokens is the same as one that saw them come.
///
/// Thread rules: const members from any number of threads, as long as no other member runs.
class SlotSampling {
 public:
  SlotSampling() = default;
  /// `tokens`: prompt and generated tokens known so far, as OpenedSlot has them.
  SlotSampling(const OpenedSlot& opened, std::span<const TokenId> tokens);

  /// Says which token stands at `position`: of a row, or sampled. Another one than was known makes
  /// what came after it void (drafts that were not accepted).
  /// REQUIRES: the tokens before `position` are known.
  void note(std::uint32_t position, TokenId token);

  /// True when notes are of no use, so that a host need not look for the tokens.
  [[nodiscard]] bool ignores_notes() const noexcept { return !history_; }

  [[nodiscard]] const SamplingParams& params() const noexcept { return params_; }
  [[nodiscard]] std::uint64_t seed() const noexcept { return seed_; }
  [[nodiscard]] std::uint32_t choice() const noexcept { return choice_; }
  [[nodiscard]] std::uint32_t prompt_length() const noexcept { return prompt_length_; }
  [[nodiscard]] const LogitProcessor* processor() const noexcept { return processor_.get(); }
  [[nodiscard]] bool has_penalties() const noexcept { return has_penalties_; }

  /// What is impossible after `num_known` tokens because of min_tokens.
  [[nodiscard]] std::span<const TokenId> suppressed(std::uint32_t num_known) const noexcept;

  /// Whether steps 1 to 4 of SamplingParams' list do anything after `num_known` tokens.
  [[nodiscard]] bool changes_logits(std::uint32_t num_known) const noexcept;

  /// The first `num_known` tokens: those that are kept, or a shorter copy of them in `scratch`.
  /// REQUIRES: !ignores_notes(), and as many are known.
  [[nodiscard]] const TokenHistory& history(std::uint32_t num_known, TokenHistory& scratch) const;

 private:
  SamplingParams params_;
  std::uint64_t seed_ = 0;
  std::uint32_t choice_ = 0;
  std::uint32_t prompt_length_ = 0;
  bool has_penalties_ = false;
  std::vector<TokenId> suppressed_;
  std::shared_ptr<const LogitProcessor> processor_;
  std::optional<TokenHistory> history_;
};

}  // namespace tickertape::kernels::sampling
