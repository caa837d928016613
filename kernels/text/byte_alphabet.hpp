// The byte alphabet of GPT-2: how a vocabulary file writes any byte as a printable character.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace tickertape::kernels::text {

/// The bytes that a token or half of a merge is written for: each character of `written` stands for
/// one byte (printable Latin-1 for itself, the other bytes, in order, for U+0100 and up; Radford et
/// al. 2019, encoder of GPT-2). nullopt when a character is outside of the alphabet.
[[nodiscard]] std::optional<std::string> bytes_from_alphabet(std::string_view written);

/// The inverse, for writing vocabulary files.
[[nodiscard]] std::string bytes_to_alphabet(std::string_view bytes);

}  // namespace tickertape::kernels::text
