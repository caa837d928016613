// JSON texts as values.
#pragma once
#include <string>
#include <string_view>

#include "kernels/text/jinja/value.hpp"

namespace tickertape::kernels::text::jinja {

/// The value of a JSON text; every string in it, keys too, is marked as from a message. Objects
/// keep the order of their keys. Throws TemplateError that says what is wrong; "" is not JSON.
[[nodiscard]] Value read_json(Budget* budget, std::string_view json);

}  // namespace tickertape::kernels::text::jinja
