// Chat messages: a conversation in OpenAI's form as the library takes it.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <tickertape/chat_template.hpp>
#include <vector>

namespace tickertape::program {

/// A list of messages, or an object whose member `messages` is one. A content is a text, a list of
/// text parts, which are joined, or null, which is "". Everything besides role and content is kept
/// as the message's fields. Throws Error(Errc::invalid_request) that names the message at fault;
/// `source` says where the conversation came from.
[[nodiscard]] std::vector<ChatMessage> chat_messages(const std::string& source,
                                                     const nlohmann::ordered_json& json);

}  // namespace tickertape::program
