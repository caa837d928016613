// String literals: Python's escapes.
#include "kernels/text/jinja/string_literal.hpp"

#include <charconv>

#include "kernels/text/jinja/lexer.hpp"
#include "kernels/text/jinja/unicode.hpp"

namespace tickertape::kernels::text::jinja {
namespace {

/// Writes the character of a numeric escape; `at` is at its first digit and moves behind the last.
void append_code(std::string& out, std::string_view literal, std::size_t& at, std::size_t digits,
                 int base, std::uint32_t line) {
  const std::string_view number = literal.substr(at, digits);
  std::uint32_t code = 0;
  const auto read = std::from_chars(number.data(), number.data() + number.size(), code, base);
  const auto size = static_cast<std::size_t>(read.ptr - number.data());
  const bool short_allowed = base == 8;
  if (read.ec != std::errc{} || size == 0 || (!short_allowed && size != digits)) {
    fail_syntax(line, "an escape in a string needs " + std::to_string(digits) + " digits");
  }
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  if (code > 0x10ffff || surrogate) fail_syntax(line, "an escape in a string is no character");
  append_utf8(out, code);
  at += size;
}

}  // namespace

std::string unescaped(std::string_view literal, std::uint32_t line) {
  constexpr std::string_view kNames = "ntr\\'\"abfv";
  constexpr std::string_view kValues = "\n\t\r\\'\"\a\b\f\v";
  std::string out;
  out.reserve(literal.size());
  for (std::size_t at = 0; at < literal.size();) {
    const char c = literal[at++];
    if (c != '\\' || at == literal.size()) {
      out += c;
      continue;
    }
    const char kind = literal[at++];
    if (const std::size_t name = kNames.find(kind); name != std::string_view::npos) {
      out += kValues[name];
    } else if (kind == 'x') {
      append_code(out, literal, at, 2, 16, line);
    } else if (kind == 'u') {
      append_code(out, literal, at, 4, 16, line);
    } else if (kind == 'U') {
      append_code(out, literal, at, 8, 16, line);
    } else if (kind >= '0' && kind <= '7') {
      append_code(out, literal, --at, 3, 8, line);
    } else if (kind != '\n') {  // A newline that is escaped is gone.
      out += '\\';
      out += kind;
    }
  }
  return out;
}

}  // namespace tickertape::kernels::text::jinja
