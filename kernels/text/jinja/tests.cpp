// Tests: what may stand behind `is`.
#include <algorithm>

#include "kernels/text/jinja/native.hpp"
#include "kernels/text/jinja/operators.hpp"
#include "kernels/text/jinja/python.hpp"
#include "kernels/text/jinja/runtime.hpp"

namespace tickertape::kernels::text::jinja {
namespace {

template <Kind kind>
Value is_kind(Call& call) {
  return call.self().is(kind);
}

template <Operator op>
Value relates(Call& call) {
  return relation(call.budget(), op, call.self(), call.arg(0));
}

Value is_defined(Call& call) {
  return !call.self().is(Kind::undefined);
}
Value is_true(Call& call) {
  return call.self().is(Kind::boolean) && call.self().boolean();
}
Value is_false(Call& call) {
  return call.self().is(Kind::boolean) && !call.self().boolean();
}
Value is_number(Call& call) {
  return is_numeric(call.self());
}

Value is_sequence(Call& call) {
  const Value& value = call.self();
  return value.is(Kind::text) || value.is(Kind::dict) || value.is(Kind::undefined) ||
         (value.is(Kind::list) && value.list()->is_sequence());
}

Value is_iterable(Call& call) {
  const Value& value = call.self();
  return value.is(Kind::text) || value.is(Kind::dict) || value.is(Kind::list) ||
         value.is(Kind::undefined);
}

Value is_callable(Call& call) {
  // Python's Undefined has the method that makes a type callable, and fails in it.
  return call.self().is(Kind::undefined) ||
         (call.self().is(Kind::object) && call.self().object()->callable());
}

Value is_same(Call& call) {
  const Value& a = call.self();
  const Value& b = call.arg(0);
  if (a.kind() != b.kind()) return false;
  if (a.is(Kind::list)) return a.list() == b.list();
  if (a.is(Kind::dict)) return a.dict() == b.dict();
  return equal(call.budget(), a, b);
}

std::int64_t remainder(Call& call, std::int64_t divisor) {
  if (divisor == 0) fail("division by zero");
  require_defined(call.self());
  if (!is_integral(call.self())) {
    fail("test '" + std::string(call.native().name) + "' needs an integer, not " +
         type_name(call.self()));
  }
  return divisor == -1 ? 0 : as_integer(call.self()) % divisor;
}

Value is_odd(Call& call) {
  return remainder(call, 2) != 0;
}
Value is_even(Call& call) {
  return remainder(call, 2) == 0;
}
Value is_divisible(Call& call) {
  return remainder(call, call.integer(0)) == 0;
}

/// Whether the text has letters and all of them are in that case.
template <Case wanted>
Value is_cased(Call& call) {
  const TextPtr text = call.self_text();
  bool any = false;
  bool all = true;
  for_each_character(*text, [&](Character character, std::size_t, bool) {
    const bool upper = is_upper(character.code);
    const bool lower = !upper && is_lower(character.code);
    any |= upper || lower;
    all &= wanted == Case::upper ? !lower : !upper;
  });
  return any && all;
}

Value is_escaped(Call& call) {
  return call.self().is(Kind::text) && call.self().text()->is_markup();
}
Value is_filter(Call& call) {
  return call.self().is(Kind::text) && find_filter(call.self().text()->bytes()) != nullptr;
}
Value is_test(Call& call) {
  return call.self().is(Kind::text) && find_test(call.self().text()->bytes()) != nullptr;
}

constexpr Native kTests[] = {
    {"defined", "", is_defined},
    {"undefined", "", is_kind<Kind::undefined>},
    {"none", "", is_kind<Kind::none>},
    {"boolean", "", is_kind<Kind::boolean>},
    {"true", "", is_true},
    {"false", "", is_false},
    {"integer", "", is_kind<Kind::integer>},
    {"float", "", is_kind<Kind::number>},
    {"number", "", is_number},
    {"string", "", is_kind<Kind::text>},
    {"mapping", "", is_kind<Kind::dict>},
    {"sequence", "", is_sequence},
    {"iterable", "", is_iterable},
    {"callable", "", is_callable},
    {"sameas", "other", is_same},
    {"odd", "", is_odd},
    {"even", "", is_even},
    {"divisibleby", "num", is_divisible},
    {"lower", "", is_cased<Case::lower>},
    {"upper", "", is_cased<Case::upper>},
    {"escaped", "", is_escaped},
    {"filter", "", is_filter},
    {"test", "", is_test},
    {"in", "seq", relates<Operator::in>},
    {"==", "other", relates<Operator::equal>},
    {"eq", "other", relates<Operator::equal>},
    {"equalto", "other", relates<Operator::equal>},
    {"!=", "other", relates<Operator::not_equal>},
    {"ne", "other", relates<Operator::not_equal>},
    {">", "other", relates<Operator::greater>},
    {"gt", "other", relates<Operator::greater>},
    {"greaterthan", "other", relates<Operator::greater>},
    {">=", "other", relates<Operator::greater_equal>},
    {"ge", "other", relates<Operator::greater_equal>},
    {"<", "other", relates<Operator::less>},
    {"lt", "other", relates<Operator::less>},
    {"lessthan", "other", relates<Operator::less>},
    {"<=", "other", relates<Operator::less_equal>},
    {"le", "other", relates<Operator::less_equal>},
};

}  // namespace

std::span<const Native> tests() noexcept {
  return kTests;
}

}  // namespace tickertape::kernels::text::jinja
