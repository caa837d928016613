// Request: what a client asks of the engine.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <tickertape/chat_template.hpp>
#include <tickertape/logit_processor.hpp>
#include <tickertape/sampling.hpp>
#include <tickertape/tokenizer.hpp>

namespace tickertape {

/// Something that happened to a request besides a token.
struct Notice {
  enum class Kind : std::uint8_t { preempted, resumed };
  enum class How : std::uint8_t { recompute, swap };
  Kind kind = Kind::preempted;
  How how = How::recompute;
};

/// One request. Exactly one of prompt, prompt_ids and messages is set.
struct Request {
  std::string prompt;                 ///< Text; control tokens in it are recognised.
  std::vector<TokenId> prompt_ids;    ///< Token ids, used as they are.
  std::vector<ChatMessage> messages;  ///< A conversation for the model's chat template.
  ChatOptions chat;                   ///< How the template treats `messages`.

  std::uint32_t max_tokens = 256;  ///< Tokens to generate at most; 0 only with prompt_logprobs.
  SamplingParams sampling;

  /// Texts that end a choice where they first appear, also across tokens: at most 64 of at most
  /// 1,024 bytes. The text before is given, the stop string only with include_stop_str_in_output.
  std::vector<std::string> stop;
  bool include_stop_str_in_output = false;

  /// Choices, 1 to max_num_seqs: answers to the same prompt, which is computed and kept once. Each
  /// is what a request of its own with this `choice` would get; they share the window.
  std::uint32_t n = 1;

  std::shared_ptr<const LogitProcessor> logit_processor;  ///< May be null.

  /// -1 none; k >= 0: the log-probability of every prompt token but the first, and the k most
  /// likely tokens at its place (Finish::prompt_logprobs).
  std::int32_t prompt_logprobs = -1;

  std::int32_t priority = 0;          ///< Smaller is first, where the order policy looks at it.
  std::optional<double> deadline_ms;  ///< From submission; then the request ends as `deadline`.
  std::string client;                 ///< Who asks, for fair orders.
  std::string cache_salt;             ///< Computed prefixes are shared within one salt only.
  std::string label;                  ///< The caller's own name for it: echoed, never a key.

  /// Undelivered tokens that the reader allows (1 to 65,536). At zero credit the sequence is
  /// parked; its neighbours never notice.
  std::uint32_t window = 64;
  bool manual_credit = false;  ///< Only add_credit() gives credit back, not the reading.

  /// Called on the stream's executor for preemptions and resumptions. May be empty.
  std::function<void(const Notice&)> on_notice;
};

}  // namespace tickertape
