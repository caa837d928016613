// JinjaTemplate: variables, limits, and the message that is left open.
#include "kernels/text/jinja_template.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "kernels/text/chat_messages.hpp"

namespace tickertape::kernels::text {
namespace {

using jinja::Kind;
using jinja::Value;

[[noreturn]] void refuse(std::string message, std::string param) {
  throw Error(ErrorInfo{Errc::invalid_request, std::move(message), std::move(param), 0});
}

std::int64_t system_now_s() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::seconds>(now).count();
}

std::size_t input_bytes(std::span<const ChatMessage> messages, const ChatOptions& options) {
  std::size_t size = options.tools.size() + options.variables.size();
  for (const ChatMessage& message : messages) {
    size += message.role.size() + message.content.size() + message.fields.size();
  }
  return size;
}

/// Enough for any template that walks over its messages a few times; what loops without end stops
/// within a second.
jinja::Limits limits_for(std::size_t messages, std::size_t bytes) {
  constexpr std::uint64_t kMiB = 1 << 20;
  return {.steps = 2'000'000 + 1'000 * messages + 2 * bytes,
          .memory_bytes = 48 * kMiB + 1'000 * messages + 24 * bytes,
          .output_bytes = 8 * kMiB + 4 * bytes};
}

std::string_view trimmed(std::string_view text, bool left, bool right) {
  constexpr std::string_view kSpace = " \t\n\r\f\v";
  if (left) text.remove_prefix(std::min(text.find_first_not_of(kSpace), text.size()));
  if (right) text = text.substr(0, text.find_last_not_of(kSpace) + 1);
  return text;
}

void cut(std::vector<PromptSpan>& spans, std::size_t size) {
  for (std::size_t i = 0; i < spans.size(); ++i) {
    if (size <= spans[i].text.size()) {
      spans[i].text.resize(size);
      spans.resize(size == 0 ? i : i + 1);
      return;
    }
    size -= spans[i].text.size();
  }
}

/// Ends the prompt with the last message's text, as transformers does it: behind its last
/// occurrence, with the white space that the template has kept.
void leave_open(std::vector<PromptSpan>& spans, std::string_view content) {
  std::string prompt;
  for (const PromptSpan& span : spans) prompt += span.text;
  const std::string_view text = trimmed(content, true, true);
  const std::size_t found = prompt.rfind(text);
  if (found == std::string::npos) {
    refuse("continue_final_message: the chat template does not write the last message's content",
           "continue_final_message");
  }
  const std::string_view with_end = trimmed(content, true, false);
  const bool kept = std::string_view(prompt).substr(found, with_end.size()) == with_end;
  cut(spans, found + (kept ? with_end.size() : text.size()));
}

}  // namespace

JinjaTemplate::Variant JinjaTemplate::read(std::string source) {
  Variant variant;
  variant.source = std::move(source);
  try {
    variant.parsed.emplace(variant.source);
  } catch (const Error& error) {
    variant.error = error.info();
  }
  return variant;
}

JinjaTemplate::JinjaTemplate(std::string source, Options options)
    : main_(read(std::move(source))),
      tokens_(std::move(options.tokens)),
      clock_(options.clock ? std::move(options.clock) : system_now_s) {
  if (!options.tool_use_source.empty()) tool_use_ = read(std::move(options.tool_use_source));
}

void JinjaTemplate::check() const {
  if (!main_.parsed) throw Error(main_.error);
  if (tool_use_ && !tool_use_->parsed) throw Error(tool_use_->error);
}

const JinjaTemplate::Variant& JinjaTemplate::variant_for(
    const ChatOptions& options) const noexcept {
  return tool_use_ && !options.tools.empty() ? *tool_use_ : main_;
}

void JinjaTemplate::set_variables(jinja::Interpreter& interpreter,
                                  std::span<const ChatMessage> messages,
                                  const ChatOptions& options) const {
  jinja::Budget* const budget = interpreter.runtime().budget();
  const auto set = [&](const char* name, Value value) {
    interpreter.set_variable(name, std::move(value));
  };
  set("bos_token", make_text(budget, tokens_.begin));
  set("eos_token", make_text(budget, tokens_.end));
  if (!tokens_.unknown.empty()) set("unk_token", make_text(budget, tokens_.unknown));
  if (!tokens_.padding.empty()) set("pad_token", make_text(budget, tokens_.padding));
  set("messages", messages_value(budget, messages));
  Value tools = json_param(budget, options.tools, Kind::list, "tools");
  const bool no_tools = tools.is(Kind::list) && tools.list()->size() == 0;
  set("tools", no_tools ? Value(jinja::None{}) : std::move(tools));
  set("documents", jinja::None{});
  set("add_generation_prompt", options.add_generation_prompt);
  const Value variables = json_param(budget, options.variables, Kind::dict, "chat_template_kwargs");
  if (variables.is(Kind::none)) return;
  for (const auto& [name, value] : variables.dict()->entries()) {
    const std::string& key = name.text()->bytes();
    if (key == "messages" || key == "tools" || key == "add_generation_prompt") {
      refuse("chat_template_kwargs must not hold " + key, "chat_template_kwargs");
    }
    interpreter.set_variable(key, value);
  }
}

std::vector<PromptSpan> JinjaTemplate::render(std::span<const ChatMessage> messages,
                                              const ChatOptions& options) const {
  if (messages.empty()) refuse("messages must not be empty", "messages");
  if (options.continue_final_message && options.add_generation_prompt) {
    refuse("continue_final_message needs add_generation_prompt = false", "continue_final_message");
  }
  const Variant& variant = variant_for(options);
  if (!variant.parsed) throw Error(variant.error);
  auto spans = variant.parsed->render(
      [&](jinja::Interpreter& interpreter) { set_variables(interpreter, messages, options); },
      limits_for(messages.size(), input_bytes(messages, options)), clock_);
  if (options.continue_final_message) leave_open(spans, messages.back().content);
  return spans;
}

std::string_view chat_ml_source() noexcept {
  return "{%- for message in messages -%}"
         "{{ '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}"
         "{%- endfor -%}"
         "{%- if add_generation_prompt -%}{{ '<|im_start|>assistant\\n' }}{%- endif -%}";
}

}  // namespace tickertape::kernels::text
