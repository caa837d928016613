// Utf8Unit: the next character of a byte string, or the broken part that stands in its place.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tickertape::kernels::text {

struct Utf8Unit {
  enum class Kind : std::uint8_t {
    character,  ///< A well-formed sequence.
    broken,     ///< A maximal subpart that no following byte can turn into a character.
    unfinished  ///< A well-formed beginning that the end of the text cuts off.
  };
  Kind kind = Kind::character;
  std::uint8_t size = 0;  ///< Bytes, 1 to 4.
};

/// The unit at the start of `text`. REQUIRES: !text.empty().
/// Well-formed sequences and maximal subparts are those of Unicode 15, section 3.9, table 3-7.
[[nodiscard]] Utf8Unit next_unit(std::string_view text) noexcept;

}  // namespace tickertape::kernels::text
