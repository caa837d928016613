// JSON text: quoting strings and numbers so that what is written is always valid.
#pragma once
#include <string>
#include <string_view>

namespace tickertape::net {

/// Appends `text` as a JSON string, quotes included. Bytes that are not UTF-8 become U+FFFD, so
/// this never fails and the result is always valid UTF-8.
void append_json_string(std::string& out, std::string_view text);

/// The same as a new string.
[[nodiscard]] std::string json_string(std::string_view text);

/// Appends a log-probability; what JSON cannot say is written as kLogprobFloor.
void append_json_logprob(std::string& out, float logprob);

}  // namespace tickertape::net
