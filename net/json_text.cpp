// JSON text: a fast path for valid UTF-8, nlohmann's replacing writer for the rest.
#include "net/json_text.hpp"

#include <fmt/format.h>
#include <simdjson.h>

#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <tickertape/batch.hpp>

namespace tickertape::net {
namespace {

void append_escaped(std::string& out, char c) {
  switch (c) {
    case '"':
      out += "\\\"";
      break;
    case '\\':
      out += "\\\\";
      break;
    case '\n':
      out += "\\n";
      break;
    case '\r':
      out += "\\r";
      break;
    case '\t':
      out += "\\t";
      break;
    default:
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned char>(c));
  }
}

bool needs_escape(char c) noexcept {
  return c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20;
}

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
  if (!simdjson::validate_utf8(text)) {
    const nlohmann::json value(text);
    out += value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    return;
  }
  out += '"';
  for (const char c : text) {
    if (needs_escape(c)) {
      append_escaped(out, c);
    } else {
      out += c;
    }
  }
  out += '"';
}

std::string json_string(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 2);
  append_json_string(out, text);
  return out;
}

void append_json_logprob(std::string& out, float logprob) {
  const float finite = std::isfinite(logprob) ? logprob : kLogprobFloor;
  fmt::format_to(std::back_inserter(out), "{}", finite);
}

}  // namespace tickertape::net
