// ChatMlTemplate: recognising and rendering.
#include "kernels/text/chat_ml_template.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <tickertape/errors.hpp>

namespace tickertape::kernels::text {
namespace {

constexpr std::string_view kTurnStart = "<|im_start|>";
constexpr std::string_view kTurnEnd = "<|im_end|>";
constexpr std::string_view kSystemTurn = "<|im_start|>system";
constexpr std::string_view kRoles[] = {"system", "user", "assistant", "tool"};

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// The value of the Jinja string literal whose opening quote is at `open`; nullopt if unclosed.
std::optional<std::string> literal_at(std::string_view source, std::size_t open) {
  std::string value;
  for (std::size_t i = open + 1; i < source.size(); ++i) {
    if (source[i] == source[open]) return value;
    if (source[i] != '\\' || i + 1 == source.size()) {
      value += source[i];
      continue;
    }
    ++i;
    value += source[i] == 'n' ? '\n' : source[i] == 't' ? '\t' : source[i];
  }
  return std::nullopt;
}

/// The default system message that the template writes as one literal: empty when it has none,
/// nullopt when it writes a system turn in a way that is not understood.
std::optional<std::string> default_system_of(std::string_view source) {
  std::string found;
  for (std::size_t at = source.find(kSystemTurn); at != std::string_view::npos;
       at = source.find(kSystemTurn, at + 1)) {
    if (at == 0 || (source[at - 1] != '\'' && source[at - 1] != '"')) return std::nullopt;
    const std::optional<std::string> literal = literal_at(source, at - 1);
    if (!literal) return std::nullopt;
    const std::string_view text = std::string_view(*literal).substr(kSystemTurn.size());
    if (text.empty() || text == "\n") continue;  // The message's own content follows.
    const std::size_t end = text.find(kTurnEnd);
    if (text[0] != '\n' || end == std::string_view::npos) return std::nullopt;
    const std::string_view message = text.substr(1, end - 1);
    if (!found.empty() && found != message) return std::nullopt;
    found = message;
  }
  return found;
}

void append(std::vector<PromptSpan>& spans, std::string_view text) {
  if (spans.empty() || spans.back().from_message) spans.push_back({{}, false});
  spans.back().text += text;
}

void append_turn_start(std::vector<PromptSpan>& spans, std::string_view role) {
  append(spans, kTurnStart);
  append(spans, role);
  append(spans, "\n");
}

void append_turn_end(std::vector<PromptSpan>& spans) {
  append(spans, kTurnEnd);
  append(spans, "\n");
}

[[noreturn]] void refuse(std::string message, std::string param) {
  throw Error(ErrorInfo{Errc::invalid_request, std::move(message), std::move(param), 0});
}

}  // namespace

std::unique_ptr<const ChatMlTemplate> ChatMlTemplate::from_jinja(std::string_view source,
                                                                 std::string_view begin_text) {
  if (!contains(source, kTurnStart) || !contains(source, kTurnEnd)) return nullptr;
  // Signs of templates that write or change messages otherwise: another separator, contents without
  // their surrounding white space, earlier answers without their reasoning, refusals.
  constexpr std::array<std::string_view, 5> kOtherShapes = {"<|im_sep|>", "trim", "strip",
                                                            "</think>", "raise_exception"};
  for (const std::string_view sign : kOtherShapes) {
    if (contains(source, sign)) return nullptr;
  }
  std::string prefix;
  if (contains(source, "bos_token")) {
    constexpr std::array<std::string_view, 3> kOpenings = {"{{ bos_token }}", "{{bos_token}}",
                                                           "{{- bos_token }}"};
    const bool opens = std::any_of(kOpenings.begin(), kOpenings.end(), [&](std::string_view text) {
      return source.starts_with(text) && !contains(source.substr(text.size()), "bos_token");
    });
    if (!opens) return nullptr;
    prefix = begin_text;
  }
  std::optional<std::string> default_system = default_system_of(source);
  if (!default_system) return nullptr;
  return std::make_unique<const ChatMlTemplate>(std::move(*default_system), std::move(prefix));
}

std::vector<PromptSpan> ChatMlTemplate::render(std::span<const ChatMessage> messages,
                                               const ChatOptions& options) const {
  if (messages.empty()) refuse("messages must not be empty", "messages");
  std::vector<PromptSpan> spans;
  append(spans, prefix_);
  if (!default_system_.empty() && messages[0].role != "system") {
    append_turn_start(spans, "system");
    append(spans, default_system_);
    append_turn_end(spans);
  }
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const ChatMessage& message = messages[i];
    if (std::find(std::begin(kRoles), std::end(kRoles), message.role) == std::end(kRoles)) {
      const std::string field = "messages[" + std::to_string(i) + "].role";
      refuse(field + " must be system, user, assistant or tool", field);
    }
    append_turn_start(spans, message.role);
    if (!message.content.empty()) spans.push_back({message.content, true});
    append_turn_end(spans);
  }
  if (options.add_generation_prompt) append_turn_start(spans, "assistant");
  return spans;
}

}  // namespace tickertape::kernels::text
