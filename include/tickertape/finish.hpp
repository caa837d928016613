// Token, Finish and Accepted: what a stream carries from its first to its last event.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tickertape/batch.hpp>
#include <tickertape/errors.hpp>

namespace tickertape {

enum class FinishReason : std::uint8_t {
  none,       ///< It has not ended.
  stop,       ///< An end token, a stop token or a stop string.
  length,     ///< max_tokens, or the context is full.
  cancelled,  ///< The client wanted no more.
  deadline,   ///< Its deadline or the request timeout passed.
  stalled,    ///< The reader gave no credit for stall_timeout.
  shutdown,   ///< The engine ended first.
  error       ///< See Finish::error.
};
inline constexpr std::size_t kNumFinishReasons = 8;

[[nodiscard]] constexpr std::string_view to_string(FinishReason reason) noexcept {
  constexpr std::string_view kNames[kNumFinishReasons] = {
      "none", "stop", "length", "cancelled", "deadline", "stalled", "shutdown", "error"};
  return kNames[static_cast<std::size_t>(reason)];
}

/// One generated token. The end token is one too: it is counted, and its text is empty.
struct Token {
  TokenId id = 0;
  std::uint32_t index = 0;  ///< Which choice.
  std::uint64_t seq = 0;    ///< 0, 1, 2, ... per choice.
  /// Set on the last token of a choice: `stop` or `length`. Other ends come without a token and
  /// stand in Finish only.
  FinishReason finish_reason = FinishReason::none;
  std::optional<float> logprob;  ///< When SamplingParams::logprobs >= 0.
  std::string text;  ///< Whole characters only; may be empty, the text then follows later.
  std::vector<TokenLogprob> top_logprobs;
};

struct Usage {
  std::uint32_t prompt_tokens = 0;
  std::uint32_t completion_tokens = 0;  ///< Tokens handed to the stream, of all choices.
  std::uint32_t cached_tokens = 0;      ///< Prompt tokens found in the prefix cache.
};

struct Timings {
  double queued_ms = 0;   ///< Submission to first admission.
  double prefill_ms = 0;  ///< First admission to first token.
  double decode_ms = 0;   ///< First token to the end.
  std::uint32_t preemptions = 0;
  std::uint32_t swapped_pages = 0;
  std::uint32_t cached_tokens = 0;
  std::uint32_t ticks = 0;  ///< Passes it had a row in; with several choices, the longest one's.
};

/// A prompt token's score: log-probability given what stands before it.
struct PromptLogprob {
  TokenLogprob chosen;
  std::vector<TokenLogprob> top;
};

/// How one choice ended.
struct ChoiceFinish {
  FinishReason reason = FinishReason::none;
  std::uint32_t completion_tokens = 0;
  std::string stop;         ///< The stop string that ended it, if one did.
  TokenId stop_token = -1;  ///< The end or stop token that ended it, if one did.
  ErrorInfo error;          ///< With FinishReason::error.
};

/// How a request ended. Every request ends exactly once: when the last of its choices has.
struct Finish {
  /// That of choice 0, or `error` when that one was fine and another failed.
  FinishReason reason = FinishReason::none;
  ErrorInfo error;  ///< With FinishReason::error, and for a refused request.
  std::vector<ChoiceFinish>
      choices;  ///< By index; one that has ended before others is here before.
  Usage usage;
  Timings timings;
  std::vector<PromptLogprob> prompt_logprobs;  ///< One less than prompt tokens, when asked for.
};

/// What the engine made of a request when it was submitted.
struct Accepted {
  std::uint64_t request_id = 0;  ///< The engine's own, unique within it.
  std::uint32_t prompt_tokens = 0;
  std::uint32_t max_tokens = 0;      ///< After clipping to the context.
  std::uint64_t seed = 0;            ///< In force.
  std::uint64_t queue_position = 0;  ///< Requests that waited before it; 0 = the next.
  std::vector<TokenId> prompt_ids;
};

}  // namespace tickertape
