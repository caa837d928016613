// Characters: decoding, classes and cases of code points, with the meaning that Python gives them.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace tickertape::kernels::text::jinja {

enum class Case : unsigned char { lower, upper, title };

/// A character of a text. A byte that is part of no well-formed sequence is a character of its own.
struct Character {
  char32_t code = 0;     ///< U+FFFD for such a byte.
  std::size_t size = 1;  ///< Bytes.
};

/// REQUIRES: at < text.size().
[[nodiscard]] Character character_at(std::string_view text, std::size_t at) noexcept;
/// The byte where the last character of text[0, end) starts. REQUIRES: 0 < end <= text.size().
[[nodiscard]] std::size_t previous_character(std::string_view text, std::size_t end) noexcept;
[[nodiscard]] std::size_t count_characters(std::string_view text) noexcept;

void append_utf8(std::string& out, char32_t code);
/// The character in another case: one to three characters.
void append_cased(std::string& out, char32_t code, Case to);

[[nodiscard]] bool is_space(char32_t code) noexcept;
[[nodiscard]] bool is_letter(char32_t code) noexcept;
[[nodiscard]] bool is_decimal(char32_t code) noexcept;
/// Decimals, superscripts and the like.
[[nodiscard]] bool is_digit(char32_t code) noexcept;
[[nodiscard]] bool is_upper(char32_t code) noexcept;
[[nodiscard]] bool is_lower(char32_t code) noexcept;
/// Whether repr() writes the character as it is.
[[nodiscard]] bool is_printable(char32_t code) noexcept;
/// Whether str.splitlines() ends a line here.
[[nodiscard]] bool is_line_end(char32_t code) noexcept;

}  // namespace tickertape::kernels::text::jinja
