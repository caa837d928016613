// Python's str and repr of values.
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <string>

#include "kernels/text/jinja/object.hpp"
#include "kernels/text/jinja/python.hpp"

namespace tickertape::kernels::text::jinja {
namespace {

/// Digits without a point and the place of the point, of a finite number that is not negative.
struct Digits {
  std::string digits;
  int exponent = 0;  ///< Of the first digit.
};

Digits shortest_digits(double number) {
  std::array<char, 64> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number,
                                 std::chars_format::scientific)
                       .ptr;
  const std::string_view text(buffer.data(), static_cast<std::size_t>(end - buffer.data()));
  const std::size_t mark = text.find('e');
  Digits result;
  for (const char c : text.substr(0, mark)) {
    if (c != '.') result.digits += c;
  }
  const std::string_view exponent = text.substr(mark + (text[mark + 1] == '+' ? 2 : 1));
  std::from_chars(exponent.data(), exponent.data() + exponent.size(), result.exponent);
  return result;
}

std::string in_exponent_form(const Digits& value) {
  std::string text(1, value.digits[0]);
  if (value.digits.size() > 1) text += "." + value.digits.substr(1);
  std::array<char, 16> exponent{};
  std::snprintf(exponent.data(), exponent.size(), "e%+03d", value.exponent);
  return text + exponent.data();
}

std::string in_plain_form(const Digits& value) {
  if (value.exponent < 0) {
    return "0." + std::string(static_cast<std::size_t>(-value.exponent - 1), '0') + value.digits;
  }
  const auto whole = static_cast<std::size_t>(value.exponent) + 1;
  if (value.digits.size() <= whole) {
    return value.digits + std::string(whole - value.digits.size(), '0') + ".0";
  }
  return value.digits.substr(0, whole) + "." + value.digits.substr(whole);
}

void append_escape(TextBuilder& out, const char* form, std::uint32_t code, bool marked) {
  std::array<char, 16> buffer{};
  std::snprintf(buffer.data(), buffer.size(), form, code);
  out.append(buffer.data(), marked);
}

void append_quoted(TextBuilder& out, const Text& text) {
  const bool has_single = text.bytes().find('\'') != std::string::npos;
  const bool has_double = text.bytes().find('"') != std::string::npos;
  const char quote = has_single && !has_double ? '"' : '\'';
  out.append(std::string_view(&quote, 1));
  for_each_character(text, [&](Character character, std::size_t at, bool marked) {
    const char32_t code = character.code;
    if (code == static_cast<unsigned char>(quote) || code == U'\\') {
      out.append("\\", marked);
      out.append(text, at, at + 1);
    } else if (code == U'\n') {
      out.append("\\n", marked);
    } else if (code == U'\r') {
      out.append("\\r", marked);
    } else if (code == U'\t') {
      out.append("\\t", marked);
    } else if (is_printable(code)) {
      out.append(text, at, at + character.size);
    } else {
      append_escape(out,
                    code < 0x100     ? "\\x%02x"
                    : code < 0x10000 ? "\\u%04x"
                                     : "\\U%08x",
                    code, marked);
    }
  });
  out.append(std::string_view(&quote, 1));
}

void append_items(TextBuilder& out, const List& list) {
  bool first = true;
  for (const Value& item : list.items()) {
    if (!first) out.append(", ");
    first = false;
    append_repr(out, item);
  }
}

void append_list(TextBuilder& out, const List& list) {
  switch (list.kind()) {
    case ListKind::list:
      out.append("[");
      append_items(out, list);
      out.append("]");
      return;
    case ListKind::tuple:
    case ListKind::group:
      out.append("(");
      append_items(out, list);
      out.append(list.size() == 1 ? ",)" : ")");
      return;
    case ListKind::generator:
      out.append("<generator object>");
      return;
    case ListKind::range:
      out.append("range(");
      break;
    case ListKind::keys:
      out.append("dict_keys(");
      break;
    case ListKind::values:
      out.append("dict_values(");
      break;
    case ListKind::items:
      out.append("dict_items(");
      break;
  }
  out.append("[");
  append_items(out, list);
  out.append("])");
}

void append_dict(TextBuilder& out, const Dict& dict) {
  out.append("{");
  bool first = true;
  for (const auto& [key, value] : dict.entries()) {
    if (!first) out.append(", ");
    first = false;
    append_repr(out, key);
    out.append(": ");
    append_repr(out, value);
  }
  out.append("}");
}

}  // namespace

std::string number_text(double number) {
  if (std::isnan(number)) return "nan";
  const std::string sign = std::signbit(number) ? "-" : "";
  if (std::isinf(number)) return sign + "inf";
  if (number == 0) return sign + "0.0";
  const Digits digits = shortest_digits(std::fabs(number));
  constexpr int kLeastPlain = -4;
  constexpr int kMostPlain = 16;
  const bool plain = digits.exponent >= kLeastPlain && digits.exponent < kMostPlain;
  return sign + (plain ? in_plain_form(digits) : in_exponent_form(digits));
}

void append_str(TextBuilder& out, const Value& value) {
  if (value.is(Kind::text)) {
    out.append(*value.text());
  } else if (!value.is(Kind::undefined)) {
    append_repr(out, value);
  }
}

void append_repr(TextBuilder& out, const Value& value) {
  switch (value.kind()) {
    case Kind::undefined:
      return out.append("Undefined");
    case Kind::none:
      return out.append("None");
    case Kind::boolean:
      return out.append(value.boolean() ? "True" : "False");
    case Kind::integer:
      return out.append(std::to_string(value.integer()));
    case Kind::number:
      return out.append(number_text(value.number()));
    case Kind::text:
      return append_quoted(out, *value.text());
    case Kind::list:
      return append_list(out, *value.list());
    case Kind::dict:
      return append_dict(out, *value.dict());
    case Kind::object:
      return out.append("<" + type_name(value) + ">");
  }
}

TextPtr str(Budget* budget, const Value& value) {
  if (value.is(Kind::text)) return value.text();
  TextBuilder out(budget);
  append_str(out, value);
  return out.finish();
}

}  // namespace tickertape::kernels::text::jinja
