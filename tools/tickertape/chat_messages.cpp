// Chat messages: reading OpenAI's form.
#include "tools/tickertape/chat_messages.hpp"

#include <tickertape/errors.hpp>

namespace tickertape::program {
namespace {

using Json = nlohmann::ordered_json;

[[noreturn]] void fail(const std::string& source, const std::string& what) {
  throw Error(Errc::invalid_request, source + ": " + what);
}

std::string content_text(const std::string& source, const std::string& name, const Json& content) {
  if (content.is_null()) return "";
  if (content.is_string()) return content.get<std::string>();
  if (!content.is_array()) fail(source, name + ".content must be a text, a list of parts or null");
  std::string text;
  for (const Json& part : content) {
    const auto body = part.is_object() ? part.find("text") : part.end();
    if (!part.is_object() || body == part.end() || !body->is_string()) {
      fail(source, name + ".content has a part that is no text");
    }
    text += body->get<std::string>();
  }
  return text;
}

ChatMessage chat_message(const std::string& source, const std::string& name, const Json& json) {
  if (!json.is_object()) fail(source, name + " must be an object");
  ChatMessage message;
  Json fields = Json::object();
  for (const auto& [key, value] : json.items()) {
    if (key == "role" && value.is_string()) {
      message.role = value.get<std::string>();
    } else if (key == "content") {
      message.content = content_text(source, name, value);
    } else if (key != "role") {
      fields[key] = value;
    }
  }
  if (message.role.empty()) fail(source, name + ".role must be a text that is not empty");
  if (!fields.empty()) message.fields = fields.dump();
  return message;
}

}  // namespace

std::vector<ChatMessage> chat_messages(const std::string& source, const Json& json) {
  const bool wrapped = json.is_object() && json.contains("messages");
  const Json& list = wrapped ? json.at("messages") : json;
  if (!list.is_array()) fail(source, "must be a list of messages, or an object with \"messages\"");
  std::vector<ChatMessage> messages;
  for (const Json& entry : list) {
    const std::string name = "messages[" + std::to_string(messages.size()) + "]";
    messages.push_back(chat_message(source, name, entry));
  }
  return messages;
}

}  // namespace tickertape::program
