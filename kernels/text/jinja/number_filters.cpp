// Filters of numbers: int, float, abs, round.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

#include "kernels/text/jinja/native.hpp"
#include "kernels/text/jinja/operators.hpp"
#include "kernels/text/jinja/python.hpp"
#include "kernels/text/jinja/runtime.hpp"
#include "kernels/text/jinja/text_operations.hpp"

namespace tickertape::kernels::text::jinja {
namespace {

/// A text as Python's float() reads it.
std::optional<double> read_number(Budget* budget, const Text& text) {
  const TextPtr trimmed = stripped(budget, text, nullptr, true, true);
  std::string digits;
  for (const char c : trimmed->bytes()) {
    if (c == 'x' || c == 'X' || c == 'p' || c == 'P' || c == '(') return std::nullopt;
    if (c != '_') digits += c;
  }
  if (digits.empty()) return std::nullopt;
  char* end = nullptr;
  const double number = std::strtod(digits.c_str(), &end);
  if (end != digits.c_str() + digits.size()) return std::nullopt;
  return number;
}

std::optional<std::int64_t> read_integer(Budget* budget, const Text& text, int base) {
  std::string digits = stripped(budget, text, nullptr, true, true)->bytes();
  std::erase(digits, '_');
  std::string sign;
  if (!digits.empty() && (digits[0] == '-' || digits[0] == '+')) {
    if (digits[0] == '-') sign = "-";
    digits.erase(0, 1);
  }
  const char* const prefix = base == 16 ? "0x" : base == 8 ? "0o" : base == 2 ? "0b" : nullptr;
  if (prefix != nullptr && digits.size() > 2 && digits[0] == '0' &&
      (digits[1] | 0x20) == prefix[1]) {
    digits.erase(0, 2);
  }
  digits = sign + digits;
  std::int64_t number = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), number, base);
  if (read.ec != std::errc{} || read.ptr != digits.data() + digits.size()) return std::nullopt;
  return number;
}

std::optional<std::int64_t> whole(double number) {
  constexpr double kLimit = 9.2e18;
  if (!(std::fabs(number) < kLimit)) return std::nullopt;
  return static_cast<std::int64_t>(number);
}

Value to_integer(Call& call) {
  const Value missing = call.arg_or(0, std::int64_t{0});
  const Value& value = call.self();
  require_defined(value);
  if (is_integral(value)) return as_integer(value);
  if (value.is(Kind::number)) {
    if (const auto number = whole(value.number())) return *number;
    return missing;
  }
  if (!value.is(Kind::text)) return missing;
  const std::int64_t base = call.integer_or(1, 10);
  if (base < 2 || base > 36) fail("the base of int must be 2 to 36");
  if (const auto number = read_integer(call.budget(), *value.text(), static_cast<int>(base))) {
    return *number;
  }
  if (const auto number = read_number(call.budget(), *value.text())) {
    if (const auto cut = whole(*number)) return *cut;
  }
  return missing;
}

Value to_float(Call& call) {
  const Value missing = call.arg_or(0, 0.0);
  require_defined(call.self());
  if (is_numeric(call.self())) return as_number(call.self());
  if (!call.self().is(Kind::text)) return missing;
  if (const auto number = read_number(call.budget(), *call.self().text())) return *number;
  return missing;
}

Value absolute(Call& call) {
  const Value& value = call.self();
  require_defined(value);
  if (value.is(Kind::number)) return std::fabs(value.number());
  if (!is_integral(value)) fail("abs needs a number, not " + type_name(value));
  return as_integer(value) < 0 ? unary(Operator::negate, value) : Value(as_integer(value));
}

/// Half to even, by the exact decimal digits.
double rounded(double number, int places) {
  if (places >= 0) {
    std::array<char, 512> text{};
    std::snprintf(text.data(), text.size(), "%.*f", std::min(places, 100), number);
    return std::strtod(text.data(), nullptr);
  }
  const double scale = std::pow(10.0, -places);
  return std::nearbyint(number / scale) * scale;
}

Value round(Call& call) {
  const Value& value = call.self();
  require_defined(value);
  if (!is_numeric(value)) fail("round needs a number, not " + type_name(value));
  const auto places = static_cast<int>(std::clamp<std::int64_t>(call.integer_or(0, 0), -300, 300));
  const std::string method = call.has(1) ? call.text(1)->bytes() : "common";
  const double number = as_number(value);
  if (method == "common") {
    if (value.is(Kind::number)) return rounded(number, places);
    return places >= 0 ? Value(as_integer(value))
                       : Value(whole(rounded(number, places)).value_or(0));
  }
  if (method != "ceil" && method != "floor") fail("round takes common, ceil or floor");
  const double scale = std::pow(10.0, places);
  const double scaled = number * scale;
  return (method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) / scale;
}

constexpr Native kFilters[] = {
    {"int", "default base", to_integer},
    {"float", "default", to_float},
    {"abs", "", absolute},
    {"round", "precision method", round},
};

}  // namespace

std::span<const Native> number_filters() noexcept {
  return kFilters;
}

}  // namespace tickertape::kernels::text::jinja
