// Tokenizer: text to token ids and back. Detokenizer: ids to text as they arrive.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tickertape {

using TokenId = std::int32_t;

/// A piece of a rendered prompt. Text that comes from a message is tokenised without control
/// tokens, so nobody can write a turn marker into a conversation.
struct PromptSpan {
  std::string text;
  bool from_message = false;
};

/// A model's vocabulary and the rule that cuts text into it. Immutable after loading: any number
/// of threads may call any member at the same time.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  /// The ids of `text`, without a begin token. With `parse_special`, control tokens written in the
  /// text are recognised; without, they are plain text. Bytes that are not UTF-8 are taken as they
  /// are. Cost: O(n log n) in the length of the text.
  [[nodiscard]] virtual std::vector<TokenId> encode(std::string_view text,
                                                    bool parse_special) const = 0;

  /// The ids of the spans' joined text; control tokens are recognised only outside of message
  /// spans. A word may run across a border, as it does in the text that the model was trained on.
  [[nodiscard]] virtual std::vector<TokenId> encode_spans(
      std::span<const PromptSpan> spans) const = 0;

  /// The bytes that a token stands for; for a control token the text it is written with.
  /// REQUIRES: 0 <= id < vocab_size().
  [[nodiscard]] virtual std::string_view bytes(TokenId id) const = 0;

  /// True for begin, end, padding, turn markers and the like: never shown in generated text.
  [[nodiscard]] virtual bool is_control(TokenId id) const = 0;

  [[nodiscard]] virtual std::size_t vocab_size() const noexcept = 0;

  /// The tokens that end a generation: the file's end-of-text, end-of-turn and so on, sorted.
  [[nodiscard]] virtual std::span<const TokenId> end_tokens() const noexcept = 0;

  /// The token put before a prompt, or -1 when the model's file asks for none.
  [[nodiscard]] virtual TokenId begin_token() const noexcept = 0;

  /// Length in bytes of the longest token: a text longer than this times the context cannot fit.
  [[nodiscard]] virtual std::size_t longest_token() const noexcept = 0;

  /// The bytes of all tokens together, control tokens included.
  [[nodiscard]] std::string decode(std::span<const TokenId> ids) const {
    std::string text;
    for (const TokenId id : ids) text += bytes(id);
    return text;
  }
};

/// Turns ids into text one at a time and never hands out a part of a character: bytes of an
/// unfinished UTF-8 sequence are held until a later token completes it. Bytes that can never become
/// a character are replaced, each maximal broken part by one U+FFFD (Unicode 15, section 3.9).
/// Used by one thread at a time.
class Detokenizer {
 public:
  explicit Detokenizer(std::shared_ptr<const Tokenizer> tokenizer)
      : tokenizer_(std::move(tokenizer)) {}

  /// The text that `id` completes; empty while a character is unfinished, and for control tokens.
  [[nodiscard]] std::string push(TokenId id);

  /// Ends the text: an unfinished character is dropped, so the stream and the whole text agree.
  void finish() noexcept { held_.clear(); }

  /// True while bytes of an unfinished character are held.
  [[nodiscard]] bool pending() const noexcept { return !held_.empty(); }

 private:
  std::shared_ptr<const Tokenizer> tokenizer_;
  std::string held_;
};

}  // namespace tickertape
