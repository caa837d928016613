// Operators: arithmetic, relations, indexing.
#include "kernels/text/jinja/operators.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "kernels/text/jinja/format.hpp"
#include "kernels/text/jinja/python.hpp"
#include "kernels/text/jinja/text_operations.hpp"

namespace tickertape::kernels::text::jinja {
namespace {

[[noreturn]] void fail_operands(Operator op, const Value& left, const Value& right) {
  require_defined(left);
  require_defined(right);
  fail("operator " + std::string(spelling(op)) + " does not take '" + type_name(left) + "' and '" +
       type_name(right) + "'");
}

[[noreturn]] void fail_overflow() {
  fail("an integer goes beyond 64 bits");
}

std::int64_t floor_quotient(std::int64_t a, std::int64_t b) {
  const std::int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

Value integer_power(std::int64_t base, std::int64_t exponent) {
  if (exponent < 0) {
    if (base == 0) fail("0 cannot be raised to a negative power");
    return std::pow(static_cast<double>(base), static_cast<double>(exponent));
  }
  std::int64_t result = 1;
  while (exponent > 0) {
    if (exponent % 2 != 0 && __builtin_mul_overflow(result, base, &result)) fail_overflow();
    exponent /= 2;
    if (exponent > 0 && __builtin_mul_overflow(base, base, &base)) fail_overflow();
  }
  return result;
}

Value integers(Operator op, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  bool overflow = false;
  switch (op) {
    case Operator::add:
      overflow = __builtin_add_overflow(a, b, &result);
      break;
    case Operator::subtract:
      overflow = __builtin_sub_overflow(a, b, &result);
      break;
    case Operator::multiply:
      overflow = __builtin_mul_overflow(a, b, &result);
      break;
    case Operator::power:
      return integer_power(a, b);
    default:
      if (b == 0) fail("division by zero");
      if (op == Operator::divide) return static_cast<double>(a) / static_cast<double>(b);
      if (b == -1) {  // The one divisor that can overflow.
        if (op == Operator::modulo) return std::int64_t{0};
        overflow = __builtin_sub_overflow(std::int64_t{0}, a, &result);
        break;
      }
      result = floor_quotient(a, b);
      if (op == Operator::modulo) result = a - result * b;
  }
  if (overflow) fail_overflow();
  return result;
}

Value numbers(Operator op, double a, double b) {
  switch (op) {
    case Operator::add:
      return a + b;
    case Operator::subtract:
      return a - b;
    case Operator::multiply:
      return a * b;
    case Operator::power:
      if (a == 0 && b < 0) fail("0 cannot be raised to a negative power");
      if (a < 0 && b != std::floor(b)) fail("a negative number has no such power");
      return std::pow(a, b);
    default:
      break;
  }
  if (b == 0) fail("division by zero");
  if (op == Operator::divide) return a / b;
  double rest = std::fmod(a, b);
  if (rest != 0 && (rest < 0) != (b < 0)) rest += b;
  if (op == Operator::modulo) return rest == 0 ? std::copysign(0.0, b) : rest;
  return std::round((a - rest) / b);
}

Value joined(Budget* budget, const Text& a, const Text& b) {
  TextBuilder out(budget);
  budget->touch(a.size() + b.size());
  const bool markup = a.is_markup() || b.is_markup();
  const auto append = [&](const Text& text) {
    markup && !text.is_markup() ? append_escaped(out, text) : out.append(text);
  };
  append(a);
  append(b);
  return out.finish(markup);
}

Value joined(Budget* budget, const List& a, const List& b) {
  budget->step((a.size() + b.size()) / 8);
  std::vector<Value> items = a.items();
  items.insert(items.end(), b.items().begin(), b.items().end());
  return make_list(budget, std::move(items), a.is_tuple() ? ListKind::tuple : ListKind::list);
}

/// A text or a list written out `times` times.
Value repeated(Budget* budget, const Value& value, std::int64_t times) {
  const auto count = static_cast<std::size_t>(std::max<std::int64_t>(times, 0));
  const bool text = value.is(Kind::text);
  const std::size_t size = text ? value.text()->size() : value.list()->size();
  const std::size_t unit = text ? 1 : sizeof(Value);
  // Refused before the work: the product may be as large as the template likes.
  if (size > 0 && count > std::numeric_limits<std::size_t>::max() / 2 / unit / size) {
    budget->take(std::numeric_limits<std::uint64_t>::max() / 2);
  }
  const Charge checked(budget, count * size * unit);
  budget->touch(count * size);
  if (!text) {
    std::vector<Value> items;
    for (std::size_t i = 0; i < count; ++i) {
      items.insert(items.end(), value.list()->items().begin(), value.list()->items().end());
    }
    return make_list(budget, std::move(items), value.list()->kind());
  }
  TextBuilder out(budget);
  if (size == 0) return out.finish();
  for (std::size_t i = 0; i < count; ++i) out.append(*value.text());
  return out.finish();
}

bool is_repeatable(const Value& value) {
  return value.is(Kind::text) || (value.is(Kind::list) && (value.list()->kind() == ListKind::list ||
                                                           value.list()->is_tuple()));
}

std::optional<Value> list_item(const List& list, const Value& key) {
  if (!is_integral(key) || !list.is_sequence()) return std::nullopt;
  const auto size = static_cast<std::int64_t>(list.size());
  std::int64_t index = as_integer(key);
  if (index < 0) index += size;
  if (index < 0 || index >= size) return std::nullopt;
  return list.items()[static_cast<std::size_t>(index)];
}

std::optional<Value> character_item(Budget* budget, const Text& text, const Value& key) {
  if (!is_integral(key)) return std::nullopt;
  const auto size = static_cast<std::int64_t>(text.length());
  std::int64_t index = as_integer(key);
  if (index < 0) index += size;
  if (index < 0 || index >= size) return std::nullopt;
  // Characters of several bytes are counted one by one.
  if (text.length() != text.size()) budget->step(text.size() / 16);
  const std::size_t at = text.offset_of(static_cast<std::size_t>(index));
  TextBuilder out(budget);
  out.append(text, at, at + character_at(text.bytes(), at).size);
  return Value(out.finish());
}

/// The bounds of a slice, as Python normalises them: indices start, start + step, ... before stop.
struct Slice {
  std::int64_t start;
  std::int64_t stop;
  std::int64_t step;
};

std::optional<std::int64_t> slice_bound(const Value& value) {
  if (value.is(Kind::none)) return std::nullopt;
  if (!is_integral(value)) {
    require_defined(value);
    fail("slice indices must be integers or none, not " + type_name(value));
  }
  return as_integer(value);
}

Slice slice_of(std::int64_t size, const Value& start, const Value& stop, const Value& step) {
  Slice result{0, 0, slice_bound(step).value_or(1)};
  if (result.step == 0) fail("the step of a slice must not be zero");
  const bool down = result.step < 0;
  const auto placed = [&](const Value& value, std::int64_t missing) {
    const auto bound = slice_bound(value);
    if (!bound) return missing;
    const std::int64_t index = *bound < 0 ? *bound + size : *bound;
    return std::clamp<std::int64_t>(index, down ? -1 : 0, down ? size - 1 : size);
  };
  result.start = placed(start, down ? size - 1 : 0);
  result.stop = placed(stop, down ? -1 : size);
  return result;
}

template <class Use>
void for_each_index(const Slice& slice, const Use& use) {
  const bool down = slice.step < 0;
  for (std::int64_t i = slice.start; down ? i > slice.stop : i < slice.stop;) {
    use(static_cast<std::size_t>(i));
    if (__builtin_add_overflow(i, slice.step, &i)) break;
  }
}

Value text_slice(Budget* budget, const Text& text, const Slice& slice) {
  budget->touch(text.size());
  TextBuilder out(budget);
  if (slice.step == 1) {
    if (slice.start < slice.stop) {
      out.append(text, text.offset_of(static_cast<std::size_t>(slice.start)),
                 text.offset_of(static_cast<std::size_t>(slice.stop)));
    }
    return out.finish();
  }
  budget->step(text.length());
  std::vector<std::size_t> starts;
  const Charge charge(budget, text.length() * sizeof(std::size_t));
  starts.reserve(text.length());
  for_each_character(text, [&](Character, std::size_t at, bool) { starts.push_back(at); });
  for_each_index(slice, [&](std::size_t i) {
    out.append(text, starts[i], starts[i] + character_at(text.bytes(), starts[i]).size);
  });
  return out.finish();
}

}  // namespace

const char* spelling(Operator op) noexcept {
  constexpr const char* kSpellings[] = {"+",  "-",  "*", "/",  "//", "%",  "**", "-",     "+",
                                        "==", "!=", "<", "<=", ">",  ">=", "in", "not in"};
  return kSpellings[static_cast<std::size_t>(op)];
}

Value arithmetic(Budget* budget, Operator op, const Value& left, const Value& right) {
  if (op == Operator::modulo && left.is(Kind::text)) return format_percent(budget, left, right);
  if (is_integral(left) && is_integral(right)) {
    return integers(op, as_integer(left), as_integer(right));
  }
  if (is_numeric(left) && is_numeric(right)) {
    return numbers(op, as_number(left), as_number(right));
  }
  if (op == Operator::add && left.is(Kind::text) && right.is(Kind::text)) {
    return joined(budget, *left.text(), *right.text());
  }
  if (op == Operator::add && is_repeatable(left) && is_repeatable(right) && !left.is(Kind::text) &&
      !right.is(Kind::text) && left.list()->is_tuple() == right.list()->is_tuple()) {
    return joined(budget, *left.list(), *right.list());
  }
  if (op == Operator::multiply) {
    if (is_repeatable(left) && is_integral(right)) return repeated(budget, left, as_integer(right));
    if (is_integral(left) && is_repeatable(right)) return repeated(budget, right, as_integer(left));
  }
  fail_operands(op, left, right);
}

Value unary(Operator op, const Value& operand) {
  if (operand.is(Kind::number))
    return op == Operator::negate ? -operand.number() : operand.number();
  if (is_integral(operand)) {
    return op == Operator::negate ? integers(Operator::subtract, 0, as_integer(operand))
                                  : Value(as_integer(operand));
  }
  require_defined(operand);
  fail("unary " + std::string(spelling(op)) + " does not take '" + type_name(operand) + "'");
}

bool relation(Budget* budget, Operator op, const Value& left, const Value& right) {
  switch (op) {
    case Operator::equal:
      return equal(budget, left, right);
    case Operator::not_equal:
      return !equal(budget, left, right);
    case Operator::in:
      return contains(budget, right, left);
    case Operator::not_in:
      return !contains(budget, right, left);
    default:
      break;
  }
  const bool nan = (left.is(Kind::number) && std::isnan(left.number())) ||
                   (right.is(Kind::number) && std::isnan(right.number()));
  const int order = compare(budget, left, right);
  if (nan) return false;
  if (op == Operator::less) return order < 0;
  if (op == Operator::less_equal) return order <= 0;
  return op == Operator::greater ? order > 0 : order >= 0;
}

std::optional<Value> item_at(Budget* budget, const Value& subject, const Value& key) {
  if (subject.is(Kind::dict)) {
    if (!is_hashable(key)) return std::nullopt;
    const Value* found = subject.dict()->find_key(key);
    return found == nullptr ? std::nullopt : std::optional<Value>(*found);
  }
  if (subject.is(Kind::list)) return list_item(*subject.list(), key);
  if (subject.is(Kind::text)) return character_item(budget, *subject.text(), key);
  return std::nullopt;
}

Value slice(Budget* budget, const Value& subject, const Value& start, const Value& stop,
            const Value& step) {
  require_defined(subject);
  if (subject.is(Kind::text)) {
    const auto size = static_cast<std::int64_t>(subject.text()->length());
    return text_slice(budget, *subject.text(), slice_of(size, start, stop, step));
  }
  // As environment.getitem() has it: what cannot be sliced has no such item.
  if (!subject.is(Kind::list) || !subject.list()->is_sequence()) return Undefined{};
  const List& list = *subject.list();
  std::vector<Value> items;
  for_each_index(slice_of(static_cast<std::int64_t>(list.size()), start, stop, step),
                 [&](std::size_t i) { items.push_back(list.items()[i]); });
  budget->step(items.size());
  return make_list(budget, std::move(items), list.is_tuple() ? ListKind::tuple : list.kind());
}

}  // namespace tickertape::kernels::text::jinja
