// LogitProcessor: your own hand on a request's logits.
#pragma once
#include <cstdint>
#include <span>

#include <tickertape/tokenizer.hpp>

namespace tickertape {

/// Where a row of logits stands.
struct LogitContext {
  std::uint32_t choice = 0;            ///< Which of the request's n choices.
  std::span<const TokenId> prompt;     ///< Its prompt's tokens.
  std::span<const TokenId> generated;  ///< What this choice has generated so far.
};

/// Changes logits before a token is chosen (step 3 of SamplingParams' list):
/// Request::logit_processor.
///
/// Thread rules: called on a compute thread of the engine, for one token of a choice after the
/// other; for different choices and requests at the same time. It must not block: the whole batch
/// waits for it. If it depends on its arguments only, the request's tokens are reproducible.
///
/// Errors: an exception, NaN, plus infinity, or a row without a possible token ends that choice
/// with FinishReason::error; its neighbours go on.
class LogitProcessor {
 public:
  virtual ~LogitProcessor() = default;

  /// `logits`: one per token id, unnormalised natural logs; minus infinity = impossible.
  virtual void process(const LogitContext& context, std::span<float> logits) const = 0;
};

}  // namespace tickertape
