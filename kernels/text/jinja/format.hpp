// Formatting: Python's '%' operator, str.format() and format specifications.
#pragma once
#include "kernels/text/jinja/object.hpp"

namespace tickertape::kernels::text::jinja {

/// `form % values`; a tuple gives several values, a dictionary those of %(name)s.
[[nodiscard]] Value format_percent(Budget* budget, const Value& form, const Value& values);

/// form.format(*positional, **named).
[[nodiscard]] Value format_braces(Runtime& run, const Text& form, const Arguments& arguments);

}  // namespace tickertape::kernels::text::jinja
