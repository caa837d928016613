// String literals: the value of what stands between the quotes.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace tickertape::kernels::text::jinja {

/// Escapes are Python's; unknown ones stay as they are. Throws the syntax error of an escape that
/// is cut off or names no character.
[[nodiscard]] std::string unescaped(std::string_view literal, std::uint32_t line);

}  // namespace tickertape::kernels::text::jinja
