// JinjaTemplate: a model's chat template.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tickertape/chat_template.hpp>
#include <tickertape/errors.hpp>

#include "kernels/text/jinja/template.hpp"

namespace tickertape::kernels::text {

/// The texts of special tokens that templates write by name; empty where a model has none.
struct TemplateTokens {
  std::string begin;    ///< bos_token
  std::string end;      ///< eos_token
  std::string unknown;  ///< unk_token
  std::string padding;  ///< pad_token
};

/// Renders as transformers' apply_chat_template() does: the same variables, the same treatment of
/// white space, the same sandbox. Arguments of tool calls that are given as a JSON text are parsed,
/// and a content that is a list of text parts is joined, before the template sees them.
class JinjaTemplate final : public ChatTemplate {
 public:
  struct Options {
    TemplateTokens tokens;
    /// Rendered instead of the source when tools are given; empty = none.
    std::string tool_use_source;
    /// What strftime_now() tells; null = the system's clock.
    jinja::Clock clock;
  };

  /// Keeps a source that cannot be read, and reports that when it is rendered: the file's template
  /// is no reason not to serve a model.
  JinjaTemplate(std::string source, Options options);

  /// Throws what reading the source said; does nothing when it could be read.
  void check() const;

  [[nodiscard]] std::vector<PromptSpan> render(std::span<const ChatMessage> messages,
                                               const ChatOptions& options) const override;
  [[nodiscard]] std::string_view source() const noexcept override { return main_.source; }

 private:
  struct Variant {
    std::string source;
    std::optional<jinja::Template> parsed;
    ErrorInfo error;  ///< Why it could not be read.
  };
  [[nodiscard]] static Variant read(std::string source);
  [[nodiscard]] const Variant& variant_for(const ChatOptions& options) const noexcept;
  void set_variables(jinja::Interpreter& interpreter, std::span<const ChatMessage> messages,
                     const ChatOptions& options) const;

  Variant main_;
  std::optional<Variant> tool_use_;
  TemplateTokens tokens_;
  jinja::Clock clock_;
};

/// The template of models that bring none but use ChatML:
/// `<|im_start|>role\ncontent<|im_end|>\n` for each message.
[[nodiscard]] std::string_view chat_ml_source() noexcept;

}  // namespace tickertape::kernels::text
