// ChatTemplate: turns a conversation into a prompt.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tickertape/tokenizer.hpp>

namespace tickertape {

struct ChatMessage {
  std::string role;     ///< "system", "user", "assistant", "tool".
  std::string content;  ///< UTF-8 text.

  /// Further members of the message as a JSON object, for templates that look at them: tool_calls,
  /// name, tool_call_id, reasoning_content and so on. Empty = none.
  std::string fields = {};
};

/// What a template is told besides the messages.
struct ChatOptions {
  /// Ends the prompt with the opening of the assistant's turn.
  bool add_generation_prompt = true;
  /// Leaves the last message open, so that the answer goes on with its text. Needs
  /// add_generation_prompt = false.
  bool continue_final_message = false;
  /// A JSON array of tool definitions; empty = none.
  std::string tools = {};
  /// A JSON object of further variables (chat_template_kwargs); empty = none.
  std::string variables = {};
};

/// Immutable after loading; any number of threads may render at the same time.
class ChatTemplate {
 public:
  virtual ~ChatTemplate() = default;

  /// The prompt of a conversation. Text that comes from messages, tools or variables is marked, so
  /// that control tokens in it stay text. Bounded in steps and output.
  /// Throws tickertape::Error (status 400) when the template refuses the messages, fails on them,
  /// or goes beyond its bounds.
  [[nodiscard]] virtual std::vector<PromptSpan> render(std::span<const ChatMessage> messages,
                                                       const ChatOptions& options) const = 0;

  /// The template's text, as the model's file or the user gave it.
  [[nodiscard]] virtual std::string_view source() const noexcept = 0;
};

}  // namespace tickertape
