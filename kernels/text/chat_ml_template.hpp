// ChatMlTemplate: conversations in the ChatML form.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tickertape/chat_template.hpp>

namespace tickertape::kernels::text {

/// Each message is `<|im_start|>role\ncontent<|im_end|>\n`. The contents are message spans.
/// Roles are system, user, assistant and tool.
class ChatMlTemplate final : public ChatTemplate {
 public:
  /// `default_system`, unless empty, is the system message of conversations that do not begin with
  /// one; `prefix` is written before everything (a model's begin token).
  explicit ChatMlTemplate(std::string default_system = {}, std::string prefix = {})
      : default_system_(std::move(default_system)), prefix_(std::move(prefix)) {}

  /// Recognises a model's Jinja template that renders plain messages as ChatML, and takes the
  /// default system message out of it; nullptr for a template of another shape. The template is
  /// never run. `begin_text` is what the template's bos_token stands for.
  [[nodiscard]] static std::unique_ptr<const ChatMlTemplate> from_jinja(
      std::string_view source, std::string_view begin_text);

  [[nodiscard]] std::vector<PromptSpan> render(std::span<const ChatMessage> messages,
                                               const ChatOptions& options) const override;
  [[nodiscard]] std::string_view source() const noexcept override { return {}; }

 private:
  std::string default_system_;
  std::string prefix_;
};

}  // namespace tickertape::kernels::text
