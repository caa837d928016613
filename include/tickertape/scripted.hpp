// Script: a model that says what a test or a demonstration tells it to.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tickertape/tokenizer.hpp>

namespace tickertape {

class Model;

/// What a test sees of a running scripted backend, and its hold on a blocked pass. Any thread.
class ScriptedProbe {
 public:
  std::atomic<std::uint64_t> forwards{0};  ///< Passes submitted.
  std::atomic<std::uint64_t> samples{0};   ///< Tokens sampled.

  /// Passes that have met their rule's block_at so far.
  [[nodiscard]] std::uint64_t num_blocked() const {
    const std::lock_guard lock(mutex_);
    return num_blocked_;
  }
  /// Returns when num_blocked() is at least `count`.
  void wait_until_blocked(std::uint64_t count = 1) const;
  /// Lets every pass that is blocked now complete.
  void release();

  // For the backend: enters a blocked pass and gives its number.
  [[nodiscard]] std::uint64_t block();
  /// Waits for a release, at most `timeout_ns`.
  [[nodiscard]] bool wait_released(std::uint64_t blocked, std::int64_t timeout_ns) const;

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::uint64_t num_blocked_ = 0;
  std::uint64_t num_released_ = 0;
};

/// What a request is answered with. Places count the request's generated tokens from 0; they do not
/// change when it is preempted and comes back.
struct ScriptRule {
  std::string match;                    ///< Part of the prompt's text; empty = every prompt.
  std::optional<std::uint32_t> choice;  ///< Only this one of a request's n choices.

  // The answer: these three, one after the other.
  std::vector<TokenId> tokens;
  std::vector<std::uint32_t> pieces;  ///< Indexes into Script::pieces.
  std::string text;

  bool repeat = false;  ///< Say the answer again and again; `end` then means nothing.
  bool end = true;      ///< An end token follows the answer; after it, or without it, only "a".

  std::optional<std::uint32_t> nan_at;    ///< Bad numbers instead of this token.
  std::optional<std::uint32_t> fault_at;  ///< The whole pass of this token fails.
  std::optional<std::uint32_t> block_at;  ///< The pass of this token waits for a release or a stop.
  std::vector<float> logprobs;            ///< Of the first tokens; log(0.9) for all others.
};

struct Script {
  std::vector<std::string> pieces;  ///< Extra tokens, any bytes; ids from the tokenizer's size on.
  double tick_ms = 0;               ///< Length of each pass.
  double prefill_ms_per_token = 0;  ///< And so much for each prompt token in it.
  std::uint32_t max_model_len = 0;  ///< 0 = the base model's, else 2048.
  std::vector<ScriptRule> rules;    ///< The first one that matches answers,
  ScriptRule fallback;              ///< else this one ("default" in JSON).
  std::shared_ptr<ScriptedProbe> probe;  ///< Shared with the backends; may be null.
};

/// Reads a script from JSON:
///
///     {"pieces": [{"hex": "F09F"}, {"text": "abc"}], "tick_ms": 10, "prefill_ms_per_token": 0.1,
///      "max_model_len": 2048,
///      "rules": [{"match": "weather", "text": "Rain.", "end": true}, {"pieces": [0, 1]}],
///      "default": {"tokens": [97], "repeat": true}}
///
/// Rules have the names of ScriptRule's members; at most one of tokens, pieces and text. Throws
/// Error(Errc::invalid_request) whose param is the field at fault, such as "rules[1].pieces".
[[nodiscard]] Script parse_script(std::string_view json);

/// parse_script() of a file; a file that cannot be read is an Error(Errc::invalid_request) too.
[[nodiscard]] Script load_script(const std::filesystem::path& path);

/// A model that answers by the script, always asynchronously. Tokenizer, chat template and sizes
/// are those of `base`; without one, a tokenizer of single bytes and the ChatML template. Sampling
/// parameters have no effect. Throws Error(Errc::invalid_request) for a token or a piece that does
/// not exist.
[[nodiscard]] std::shared_ptr<const Model> make_scripted_model(
    Script script, std::shared_ptr<const Model> base = nullptr);

}  // namespace tickertape
