// ChatTemplate: messages to the prompt a chat model was trained on.
#pragma once
#include <span>
#include <string>
#include <vector>

#include <tickertape/tokenizer.hpp>

namespace tickertape {

struct ChatMessage {
  std::string role;     ///< "system", "user", "assistant", "tool".
  std::string content;  ///< UTF-8 text.
};

/// Immutable after loading; any number of threads may render at the same time.
class ChatTemplate {
 public:
  virtual ~ChatTemplate() = default;

  /// The prompt of a conversation, ending with the opening of the assistant's turn when
  /// `add_generation_prompt`. Throws tickertape::Error (status 400) when the template refuses it.
  [[nodiscard]] virtual std::vector<PromptSpan> render(std::span<const ChatMessage> messages,
                                                       bool add_generation_prompt) const = 0;
};

}  // namespace tickertape
