// The fields that say what to run: prompt, prompt_ids and messages.
#include "net/message_fields.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "net/json_text.hpp"
#include "net/list_fields.hpp"

namespace tickertape::net {
namespace {

using simdjson::SUCCESS;
using simdjson::dom::array;
using simdjson::dom::element;
using simdjson::dom::object;

Refusal read_ids(std::string_view name, const element& value, std::uint32_t vocab_size,
                 Request& out) {
  if (auto refusal = read_token_ids(name, value, vocab_size, out.prompt_ids)) return refusal;
  if (out.prompt_ids.empty()) return FieldError(name, fmt::format("{} is empty", name));
  return std::nullopt;
}

Refusal read_text(std::string_view text, Request& out) {
  if (text.empty()) return FieldError("prompt", "prompt is empty");
  out.prompt = text;
  return std::nullopt;
}

/// The text of one part of a message's content.
Refusal append_part(const std::string& where, const element& part, std::string& text) {
  object fields;
  if (part.get(fields) != SUCCESS) {
    return FieldError(where, fmt::format("{} must hold objects with type and text", where));
  }
  std::string_view type;
  if (fields["type"].get(type) != SUCCESS) {
    return FieldError(where, fmt::format("a part of {} has no type", where));
  }
  if (type != "text") {
    return FieldError(where, fmt::format("{}: only parts of type text are served", where));
  }
  std::string_view words;
  if (fields["text"].get(words) != SUCCESS) {
    return FieldError(where, fmt::format("a text part of {} has no string text", where));
  }
  text += words;
  return std::nullopt;
}

Refusal read_content(const std::string& where, object message, ChatMessage& out) {
  element content;
  const bool absent = message["content"].get(content) != SUCCESS || content.is_null();
  if (absent) {
    if (out.role == "assistant") return std::nullopt;
    return FieldError(where, fmt::format("{} is missing", where));
  }
  std::string_view text;
  if (content.get(text) == SUCCESS) {
    out.content = text;
    return std::nullopt;
  }
  array parts;
  if (content.get(parts) != SUCCESS) {
    return FieldError(where, fmt::format("{} must be a string or a list of text parts", where));
  }
  for (const element part : parts) {
    if (auto refusal = append_part(where, part, out.content)) return refusal;
  }
  return std::nullopt;
}

/// Keeps what templates may look at besides role and content. A null member counts as absent, as
/// in every list of messages that a client's library fills with defaults.
void read_other_members(object message, ChatMessage& out) {
  for (const auto field : message) {
    if (field.key == "role" || field.key == "content" || field.value.is_null()) continue;
    out.fields += out.fields.empty() ? '{' : ',';
    append_json_string(out.fields, field.key);
    out.fields += ':';
    out.fields += simdjson::minify(field.value);
  }
  if (!out.fields.empty()) out.fields += '}';
}

bool is_role(std::string_view role) noexcept {
  return role == "system" || role == "user" || role == "assistant" || role == "tool";
}

Refusal read_message(std::size_t index, const element& value, ChatMessage& out) {
  const std::string where = fmt::format("messages[{}]", index);
  object message;
  if (value.get(message) != SUCCESS) {
    return FieldError(where, fmt::format("{} must be an object", where));
  }
  std::string_view role;
  if (message["role"].get(role) != SUCCESS) {
    return FieldError(where + ".role", fmt::format("{}.role must be a string", where));
  }
  if (role == "developer") role = "system";  // OpenAI's newer name for the same.
  if (!is_role(role)) {
    return FieldError(
        where + ".role",
        fmt::format("{}.role must be system, developer, user, assistant or tool", where));
  }
  out.role = role;
  read_other_members(message, out);
  return read_content(where + ".content", message, out);
}

}  // namespace

Refusal read_prompt_ids(const element& value, std::uint32_t vocab_size, Request& out) {
  return read_ids("prompt_ids", value, vocab_size, out);
}

Refusal read_prompt(const element& value, std::uint32_t vocab_size, Request& out) {
  std::string_view text;
  if (value.get(text) == SUCCESS) return read_text(text, out);
  array items;
  if (value.get(items) != SUCCESS) {
    return FieldError("prompt", "prompt must be a string or a list of token ids");
  }
  if (items.size() == 0) return FieldError("prompt", "prompt is empty");
  const element first = items.at(0);
  array ids;
  const bool prompts = first.get(text) == SUCCESS || first.get(ids) == SUCCESS;
  if (!prompts) return read_ids("prompt", value, vocab_size, out);
  if (items.size() > 1) {
    return FieldError("prompt", "prompt must hold one prompt; a request is one generation here");
  }
  if (first.get(text) == SUCCESS) return read_text(text, out);
  return read_ids("prompt", first, vocab_size, out);
}

Refusal read_messages(const element& value, std::uint32_t, Request& out) {
  array items;
  if (value.get(items) != SUCCESS) {
    return FieldError("messages", "messages must be a list of messages");
  }
  std::vector<ChatMessage> messages;
  messages.reserve(items.size());
  for (const element item : items) {
    ChatMessage message;
    if (auto refusal = read_message(messages.size(), item, message)) return refusal;
    messages.push_back(std::move(message));
  }
  if (messages.empty()) return FieldError("messages", "messages is empty");
  out.messages = std::move(messages);
  return std::nullopt;
}

}  // namespace tickertape::net
