// Formatting: '%' conversions, brace fields, and the specifications that both come down to.
#include "kernels/text/jinja/format.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>
#include <optional>
#include <string>

#include "kernels/text/jinja/operators.hpp"
#include "kernels/text/jinja/python.hpp"
#include "kernels/text/jinja/runtime.hpp"

namespace tickertape::kernels::text::jinja {
namespace {

struct Spec {
  std::string fill = " ";
  char align = 0;  ///< '<', '>', '^', '=' or 0.
  char sign = '-';
  bool alternate = false;
  char group = 0;  ///< ',' or '_'.
  std::size_t width = 0;
  std::optional<int> precision;
  char type = 0;
  bool marked = false;  ///< The specification came from a message, and so did its fill.
};

bool is_ascii_digit(char c) {
  return c >= '0' && c <= '9';
}

/// The number at `at`; 0 when there is none.
std::size_t number_at(std::string_view text, std::size_t& at) {
  std::size_t value = 0;
  constexpr std::size_t kMost = 1'000'000;
  for (; at < text.size() && is_ascii_digit(text[at]); ++at) {
    value = value * 10 + static_cast<std::size_t>(text[at] - '0');
    if (value > kMost) fail("a width or precision is above " + std::to_string(kMost));
  }
  return value;
}

std::string with_groups(const std::string& digits, char group) {
  std::string out;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) out += group;
    out += digits[i];
  }
  return out;
}

std::string printed(const char* form, int precision, double value) {
  constexpr int kMostDigits = 400;
  std::array<char, 1024> buffer{};
  std::snprintf(buffer.data(), buffer.size(), form, std::min(precision, kMostDigits), value);
  return buffer.data();
}

/// The digits of a number without its sign.
std::string number_digits(const Value& value, const Spec& spec) {
  constexpr int kDefaultPrecision = 6;
  const char type = spec.type;
  const bool integral = is_integral(value) && (type == 0 || type == 'd' || type == 'x' ||
                                               type == 'X' || type == 'o' || type == 'b');
  if (integral) {
    const std::int64_t number = as_integer(value);
    auto magnitude = static_cast<std::uint64_t>(number);
    if (number < 0) magnitude = std::uint64_t{0} - magnitude;
    std::array<char, 72> buffer{};
    const int base = type == 'x' || type == 'X' ? 16 : type == 'o' ? 8 : type == 'b' ? 2 : 10;
    const auto end =
        std::to_chars(buffer.data(), buffer.data() + buffer.size(), magnitude, base).ptr;
    std::string digits(buffer.data(), end);
    if (type == 'X') {
      for (char& c : digits) c = c >= 'a' ? static_cast<char>(c - 32) : c;
    }
    if (spec.alternate && base != 10) digits = std::string("0") + type + digits;
    return digits;
  }
  const double number = std::fabs(as_number(value));
  const int precision = spec.precision.value_or(kDefaultPrecision);
  switch (type) {
    case 0:
      if (!spec.precision) return number_text(number);
      return printed("%.*g", std::max(precision, 1), number);
    case 'f':
    case 'F':
      return printed("%.*f", precision, number);
    case 'e':
      return printed("%.*e", precision, number);
    case 'E':
      return printed("%.*E", precision, number);
    case 'g':
      return printed("%.*g", std::max(precision, 1), number);
    case 'G':
      return printed("%.*G", std::max(precision, 1), number);
    case '%':
      return printed("%.*f", precision, number * 100) + "%";
    default:
      fail(std::string("unknown format code '") + type + "' for '" + type_name(value) + "'");
  }
}

std::string number_body(const Value& value, const Spec& spec, std::string& sign) {
  const bool negative = is_integral(value) ? as_integer(value) < 0 : std::signbit(as_number(value));
  sign = negative ? "-" : spec.sign == '-' ? "" : std::string(1, spec.sign);
  std::string digits = number_digits(value, spec);
  if (spec.group == 0) return digits;
  const std::size_t whole = std::min(digits.find_first_not_of("0123456789"), digits.size());
  return with_groups(digits.substr(0, whole), spec.group) + digits.substr(whole);
}

void append_padded(TextBuilder& out, const Text& body, const std::string& sign, const Spec& spec,
                   char default_align) {
  const char align = spec.align == 0 ? default_align : spec.align;
  const std::size_t length = body.length() + sign.size();
  const std::size_t pad = spec.width > length ? spec.width - length : 0;
  const std::size_t before = align == '<' ? 0 : align == '^' ? pad / 2 : pad;
  if (align == '=') out.append(sign);
  out.append_repeated(spec.fill, before, spec.marked);
  if (align != '=') out.append(sign);
  out.append(body);
  out.append_repeated(spec.fill, pad - before, spec.marked);
}

void append_formatted(TextBuilder& out, Budget* budget, const Value& value, const Spec& spec) {
  const bool as_text = spec.type == 's' || (spec.type == 0 && !is_numeric(value)) ||
                       (spec.type == 0 && value.is(Kind::boolean));
  if (as_text) {
    const TextPtr body = str(budget, value);
    TextPtr cut = body;
    if (spec.precision) {
      TextBuilder part(budget);
      part.append(*body, 0, body->offset_of(static_cast<std::size_t>(*spec.precision)));
      cut = part.finish();
    }
    append_padded(out, *cut, "", spec, '<');
    return;
  }
  if (!is_numeric(value)) {
    require_defined(value);
    fail(std::string("format code '") + spec.type + "' needs a number, not " + type_name(value));
  }
  std::string sign;
  const std::string body = number_body(value, spec, sign);
  append_padded(out, *make_text(budget, body), sign, spec, '>');
}

Spec parse_spec(std::string_view text) {
  Spec spec;
  std::size_t at = 0;
  const auto is_align = [](char c) { return c == '<' || c == '>' || c == '^' || c == '='; };
  if (!text.empty()) {
    const std::size_t fill = character_at(text, 0).size;
    if (fill < text.size() && is_align(text[fill])) {
      spec.fill = text.substr(0, fill);
      spec.align = text[fill];
      at = fill + 1;
    } else if (is_align(text[0])) {
      spec.align = text[at++];
    }
  }
  const auto next_is = [&](std::string_view set) {
    return at < text.size() && set.find(text[at]) != std::string_view::npos;
  };
  if (next_is("+- ")) spec.sign = text[at++];
  if (next_is("#")) spec.alternate = ++at > 0;
  if (next_is("0")) {
    ++at;
    if (spec.align == 0) {
      spec.fill = "0";
      spec.align = '=';
    }
  }
  spec.width = number_at(text, at);
  if (next_is(",_")) spec.group = text[at++];
  if (next_is(".")) spec.precision = static_cast<int>(number_at(text, ++at));
  if (at < text.size()) spec.type = text[at++];
  if (at != text.size()) fail("the format specification has more than one type");
  return spec;
}

/// Reads and writes the conversions of '%'.
class PercentFormat {
 public:
  PercentFormat(Budget* budget, const Text& form, const Value& values)
      : budget_(budget), form_(form), values_(values), out_(budget) {}

  Value run() {
    const std::string& bytes = form_.bytes();
    while (at_ < bytes.size()) {
      const std::size_t percent = std::min(bytes.find('%', at_), bytes.size());
      out_.append(form_, at_, percent);
      at_ = percent + 1;
      if (percent < bytes.size()) conversion();
    }
    const bool tuple = values_.is(Kind::list) && values_.list()->is_tuple();
    const bool may_be_unused = !tuple && (values_.is(Kind::dict) || values_.is(Kind::list));
    if (!may_be_unused && used_ < (tuple ? values_.list()->size() : 1)) {
      fail("not all arguments of '%' were used by the string");
    }
    return out_.finish();
  }

 private:
  char peek() const {
    if (at_ >= form_.size()) fail("incomplete format after '%'");
    return form_.bytes()[at_];
  }

  Value next_value() {
    const bool tuple = values_.is(Kind::list) && values_.list()->is_tuple();
    const std::size_t index = used_++;
    if (!tuple && index == 0) return values_;
    if (!tuple || index >= values_.list()->size()) fail("not enough arguments for '%'");
    return values_.list()->items()[index];
  }

  std::optional<Value> named_value() {
    if (peek() != '(') return std::nullopt;
    const std::size_t close = form_.bytes().find(')', at_);
    if (close == std::string::npos) fail("incomplete key after '%('");
    const std::string name = form_.bytes().substr(at_ + 1, close - at_ - 1);
    at_ = close + 1;
    if (!values_.is(Kind::dict)) fail("'%(" + name + ")' needs a dictionary");
    const Value* found = values_.dict()->find(name);
    if (found == nullptr) fail("'%' has no value named '" + name + "'");
    return *found;
  }

  std::size_t size_at() {
    if (peek() != '*') return number_at(form_.bytes(), at_);
    ++at_;
    const Value value = next_value();
    if (!is_integral(value) || as_integer(value) < 0) fail("* of '%' needs a positive integer");
    std::size_t place = 0;
    return number_at(std::to_string(as_integer(value)), place);
  }

  void conversion() {
    std::optional<Value> value = named_value();
    Spec spec;
    for (; std::string_view("-+ #0").find(peek()) != std::string_view::npos; ++at_) {
      if (peek() == '-') spec.align = '<';
      if (peek() == '+' || (peek() == ' ' && spec.sign != '+')) spec.sign = peek();
      if (peek() == '#') spec.alternate = true;
      if (peek() == '0') spec.fill = "0";
    }
    if (spec.align == '<') spec.fill = " ";
    if (spec.align == 0) spec.align = spec.fill == "0" ? '=' : '>';
    spec.width = size_at();
    if (peek() == '.') {
      ++at_;
      spec.precision = static_cast<int>(size_at());
    }
    spec.type = peek();
    ++at_;
    if (spec.type == '%') return out_.append("%");
    if (!value) value = next_value();
    convert(*value, spec);
  }

  void convert(const Value& value, Spec spec) {
    if (spec.type == 's' || spec.type == 'r' || spec.type == 'a') {
      if (spec.fill == "0") spec.fill = " ";
      if (spec.align == '=') spec.align = '>';
      TextBuilder body(budget_);
      spec.type == 's' ? append_str(body, value) : append_repr(body, value);
      spec.type = 's';
      return append_formatted(out_, budget_, body.finish(), spec);
    }
    if (spec.type == 'i' || spec.type == 'u') spec.type = 'd';
    const bool whole = std::string_view("dxXo").find(spec.type) != std::string_view::npos;
    const bool real = std::string_view("eEfFgG").find(spec.type) != std::string_view::npos;
    if (!whole && !real) fail(std::string("unsupported format character '") + spec.type + "'");
    if (!is_numeric(value)) {
      require_defined(value);
      fail(std::string("%") + spec.type + " needs a number, not " + type_name(value));
    }
    if (!whole || is_integral(value)) return append_formatted(out_, budget_, value, spec);
    constexpr double kLimit = 9.2e18;
    if (!(std::fabs(value.number()) < kLimit)) fail("an integer goes beyond 64 bits");
    append_formatted(out_, budget_, static_cast<std::int64_t>(value.number()), spec);
  }

  Budget* budget_;
  const Text& form_;
  const Value& values_;
  TextBuilder out_;
  std::size_t at_ = 0;
  std::size_t used_ = 0;
};

/// The fields of str.format().
class BraceFormat {
 public:
  BraceFormat(Runtime& run, const Text& form, const Arguments& arguments)
      : run_(run), form_(form), arguments_(arguments), out_(run.budget()) {}

  Value run() {
    const std::string& bytes = form_.bytes();
    std::size_t at = 0;
    while (at < bytes.size()) {
      const std::size_t brace = std::min(bytes.find_first_of("{}", at), bytes.size());
      out_.append(form_, at, brace);
      if (brace == bytes.size()) break;
      if (brace + 1 < bytes.size() && bytes[brace + 1] == bytes[brace]) {
        out_.append(form_, brace, brace + 1);
        at = brace + 2;
        continue;
      }
      const std::size_t close = bytes.find('}', brace);
      if (bytes[brace] == '}' || close == std::string::npos) fail("single brace in format string");
      field(std::string_view(bytes).substr(brace + 1, close - brace - 1));
      at = close + 1;
    }
    return out_.finish();
  }

 private:
  void field(std::string_view text) {
    const std::size_t colon = text.find(':');
    const std::string_view spec = colon == std::string_view::npos ? "" : text.substr(colon + 1);
    std::string_view name = text.substr(0, colon);
    char conversion = 's';
    if (const std::size_t mark = name.find('!'); mark != std::string_view::npos) {
      if (mark + 2 == name.size()) conversion = name[mark + 1];
      name = name.substr(0, mark);
    }
    Value value = look_up(name);
    if (conversion == 'r') {
      TextBuilder body(run_.budget());
      append_repr(body, value);
      value = body.finish();
    }
    Spec parsed = parse_spec(spec);
    parsed.marked = form_.any_marked();
    append_formatted(out_, run_.budget(), value, parsed);
  }

  Value look_up(std::string_view name) {
    const std::size_t end = std::min(name.find_first_of(".["), name.size());
    Value value = argument(std::string(name.substr(0, end)));
    for (std::size_t at = end; at < name.size();) {
      const bool dot = name[at] == '.';
      const std::size_t stop = dot ? std::min(name.find_first_of(".[", at + 1), name.size())
                                   : std::min(name.find(']', at), name.size());
      const std::string key(name.substr(at + 1, stop - at - 1));
      value = dot ? run_.attribute(value, key) : run_.item(value, index_of(key));
      require_defined(value);
      at = dot ? stop : stop + 1;
    }
    return value;
  }

  Value index_of(const std::string& key) {
    std::int64_t number = 0;
    const auto read = std::from_chars(key.data(), key.data() + key.size(), number);
    if (read.ec == std::errc{} && read.ptr == key.data() + key.size()) return number;
    return make_text(run_.budget(), key);
  }

  Value argument(const std::string& name) {
    std::size_t index = next_;
    if (name.empty()) {
      ++next_;
    } else if (is_ascii_digit(name[0])) {
      std::size_t at = 0;
      index = number_at(name, at);
    } else {
      for (const auto& [key, value] : arguments_.named) {
        if (key == name) return value;
      }
      fail("format() has no argument named '" + name + "'");
    }
    if (index >= arguments_.positional.size()) fail("format() has too few arguments");
    return arguments_.positional[index];
  }

  Runtime& run_;
  const Text& form_;
  const Arguments& arguments_;
  TextBuilder out_;
  std::size_t next_ = 0;
};

}  // namespace

Value format_percent(Budget* budget, const Value& form, const Value& values) {
  budget->touch(form.text()->size());
  return PercentFormat(budget, *form.text(), values).run();
}

Value format_braces(Runtime& run, const Text& form, const Arguments& arguments) {
  run.budget()->touch(form.size());
  return BraceFormat(run, form, arguments).run();
}

}  // namespace tickertape::kernels::text::jinja
