// ChoiceText: the tokens of one choice into text, up to a stop string.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <tickertape/tokenizer.hpp>

#include "actors/stop_matcher.hpp"

namespace tickertape::actors {

/// What a request says about its text; the same for all its choices.
struct TextRules {
  std::shared_ptr<const StopStrings> stops;  ///< Null = none.
  bool include_stop = false;                 ///< A stop string or token is part of the text.
  std::uint32_t min_tokens = 0;  ///< Stop strings are looked for in what comes after so many.
};

/// A plain value without clock or coroutine.
class ChoiceText {
 public:
  /// `tokenizer` may be null: then there is no text.
  ChoiceText(const std::shared_ptr<const Tokenizer>& tokenizer, const TextRules& rules);

  /// The text that the next token makes certain. `is_last`: nothing comes after it, so what was
  /// held back goes with it; `is_stop`: it is an end or stop token, whose own text is not shown
  /// unless the rules say so.
  [[nodiscard]] std::string push(TokenId id, bool is_last, bool is_stop);

  /// The stop string that was found, or null.
  [[nodiscard]] const std::string* stopped_by() const noexcept {
    return matcher_ ? matcher_->stopped_by() : nullptr;
  }

 private:
  std::optional<Detokenizer> detokenizer_;
  std::optional<StopMatcher> matcher_;
  bool include_stop_;
  std::uint32_t min_tokens_;
  std::uint32_t num_tokens_ = 0;
};

}  // namespace tickertape::actors
