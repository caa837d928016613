// Python's meaning of values: truth, equality, order, names of types, str and repr.
#pragma once
#include <string>

#include "kernels/text/jinja/value.hpp"

namespace tickertape::kernels::text::jinja {

/// "str", "int", "list" ...
[[nodiscard]] std::string type_name(const Value& value);
[[nodiscard]] bool truthy(const Value& value);
[[nodiscard]] bool is_hashable(const Value& value);
/// Integers and booleans.
[[nodiscard]] bool is_integral(const Value& value);
/// Integers, booleans and floats.
[[nodiscard]] bool is_numeric(const Value& value);
/// REQUIRES: is_integral(value).
[[nodiscard]] std::int64_t as_integer(const Value& value);
/// REQUIRES: is_numeric(value).
[[nodiscard]] double as_number(const Value& value);

/// Costs a step per pair of values compared.
[[nodiscard]] bool equal(Budget* budget, const Value& a, const Value& b);
/// Below, equal or above zero; throws TemplateError where the two have no order.
[[nodiscard]] int compare(Budget* budget, const Value& a, const Value& b);
/// `part in whole`.
[[nodiscard]] bool contains(Budget* budget, const Value& whole, const Value& part);

/// The shortest digits that give the number back, as Python writes them.
[[nodiscard]] std::string number_text(double number);
/// What printing the value writes; a text is itself.
[[nodiscard]] TextPtr str(Budget* budget, const Value& value);
void append_str(TextBuilder& out, const Value& value);
void append_repr(TextBuilder& out, const Value& value);

/// The value's items: of a list, the keys of a dictionary, the characters of a text. A generator
/// is used up. Throws TemplateError when the value cannot be walked over.
[[nodiscard]] ListPtr items_of(Budget* budget, const Value& value);

/// Throws the error of using an undefined value; does nothing for others.
void require_defined(const Value& value);

}  // namespace tickertape::kernels::text::jinja
