// Operators: arithmetic on values and what [] gives.
#pragma once
#include <optional>

#include "kernels/text/jinja/value.hpp"

namespace tickertape::kernels::text::jinja {

enum class Operator : unsigned char {
  add,
  subtract,
  multiply,
  divide,
  floor_divide,
  modulo,
  power,
  negate,
  affirm,
  equal,
  not_equal,
  less,
  less_equal,
  greater,
  greater_equal,
  in,
  not_in
};

/// As templates write it.
[[nodiscard]] const char* spelling(Operator op) noexcept;

/// Arithmetic as in Python, within 64 bits. Throws TemplateError for operands of a wrong type.
[[nodiscard]] Value arithmetic(Budget* budget, Operator op, const Value& left, const Value& right);
[[nodiscard]] Value unary(Operator op, const Value& operand);
[[nodiscard]] bool relation(Budget* budget, Operator op, const Value& left, const Value& right);

/// subject[key] without attributes; nullopt when there is none. The key is no slice.
[[nodiscard]] std::optional<Value> item_at(Budget* budget, const Value& subject, const Value& key);
/// subject[start:stop:step]; undefined or none = not given.
[[nodiscard]] Value slice(Budget* budget, const Value& subject, const Value& start,
                          const Value& stop, const Value& step);

}  // namespace tickertape::kernels::text::jinja
