// Messages as a template sees them: fields joined in, contents and arguments made plain.
#include "kernels/text/chat_messages.hpp"

#include <string>
#include <utility>
#include <vector>

#include <tickertape/errors.hpp>

#include "kernels/text/jinja/json_value.hpp"
#include "kernels/text/jinja/python.hpp"

namespace tickertape::kernels::text {
namespace {

using jinja::Budget;
using jinja::Kind;
using jinja::Value;

[[noreturn]] void refuse(const std::string& param, const std::string& what) {
  throw Error(ErrorInfo{Errc::invalid_request, param + " " + what, param, 0});
}

/// A list of text parts as their joined text; everything else as it is.
Value plain_content(Budget* budget, const Value& content, const std::string& param) {
  if (!content.is(Kind::list)) return content;
  jinja::TextBuilder text(budget);
  for (const Value& part : content.list()->items()) {
    if (part.is(Kind::text)) {
      text.append(*part.text());
      continue;
    }
    const Value* body = part.is(Kind::dict) ? part.dict()->find("text") : nullptr;
    if (body == nullptr || !body->is(Kind::text)) refuse(param, "has a part that is no text");
    text.append(*body->text());
  }
  return text.finish();
}

/// The dictionary with one entry changed.
Value with_entry(Budget* budget, const jinja::Dict& dict, std::string_view name, Value value) {
  jinja::DictBuilder out(budget);
  for (const auto& [key, old] : dict.entries()) {
    const bool changed = key.is(Kind::text) && key.text()->bytes() == name;
    out.set(key, changed ? value : old);
  }
  return out.finish();
}

/// A tool call whose arguments are a JSON text: with the object that the text says.
Value with_arguments(Budget* budget, const Value& call) {
  const Value* function = call.is(Kind::dict) ? call.dict()->find("function") : nullptr;
  if (function == nullptr || !function->is(Kind::dict)) return call;
  const Value* arguments = function->dict()->find("arguments");
  if (arguments == nullptr || !arguments->is(Kind::text)) return call;
  Value parsed;
  try {
    const std::string& json = arguments->text()->bytes();
    parsed = jinja::read_json(budget, json.empty() ? "{}" : json);
  } catch (const jinja::TemplateError& error) {
    if (error.kind() == jinja::TemplateError::Kind::bound) throw;
    return call;  // No JSON: the template gets what the caller wrote.
  }
  if (!parsed.is(Kind::dict)) return call;
  return with_entry(budget, *call.dict(), "function",
                    with_entry(budget, *function->dict(), "arguments", std::move(parsed)));
}

Value plain_tool_calls(Budget* budget, const Value& calls) {
  if (!calls.is(Kind::list)) return calls;
  std::vector<Value> plain;
  for (const Value& call : calls.list()->items()) plain.push_back(with_arguments(budget, call));
  return make_list(budget, std::move(plain));
}

void add_fields(Budget* budget, const ChatMessage& message, const std::string& param,
                jinja::DictBuilder& out) {
  const Value fields = json_param(budget, message.fields, Kind::dict, param);
  if (fields.is(Kind::none)) return;
  for (const auto& [key, value] : fields.dict()->entries()) {
    const std::string& name = key.text()->bytes();
    if (name == "content") {
      out.set(key, plain_content(budget, value, param + ".content"));
    } else if (name == "tool_calls") {
      out.set(key, plain_tool_calls(budget, value));
    } else {
      out.set(key, value);
    }
  }
}

}  // namespace

Value json_param(Budget* budget, const std::string& json, Kind root, const std::string& param) {
  if (json.empty()) return jinja::None{};
  Value value;
  try {
    value = jinja::read_json(budget, json);
  } catch (const jinja::TemplateError& error) {
    refuse(param, error.what());
  }
  if (!value.is(root)) {
    refuse(param, std::string("must be a JSON ") + (root == Kind::dict ? "object" : "array"));
  }
  return value;
}

Value messages_value(Budget* budget, std::span<const ChatMessage> messages) {
  std::vector<Value> values;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const ChatMessage& message = messages[i];
    const std::string param = "messages[" + std::to_string(i) + "]";
    if (message.role.empty()) refuse(param + ".role", "must not be empty");
    jinja::DictBuilder entries(budget);
    const auto text = [&](std::string_view bytes, bool marked) {
      return Value(make_text(budget, bytes, marked));
    };
    entries.set(text("role", false), text(message.role, true));
    entries.set(text("content", false), text(message.content, true));
    add_fields(budget, message, param, entries);
    values.emplace_back(entries.finish());
  }
  return make_list(budget, std::move(values));
}

}  // namespace tickertape::kernels::text
