// Utf8Unit: table 3-7 of the Unicode standard.
#include "kernels/text/utf8.hpp"

namespace tickertape::kernels::text {
namespace {

/// What a lead byte asks for: how many bytes in all, and the range of the second one.
struct Lead {
  std::uint8_t size;
  std::uint8_t second_min;
  std::uint8_t second_max;
};

Lead lead_of(unsigned char byte) noexcept {
  if (byte < 0x80) return {1, 0, 0};
  if (byte < 0xc2) return {0, 0, 0};
  if (byte < 0xe0) return {2, 0x80, 0xbf};
  if (byte == 0xe0) return {3, 0xa0, 0xbf};
  if (byte == 0xed) return {3, 0x80, 0x9f};
  if (byte < 0xf0) return {3, 0x80, 0xbf};
  if (byte == 0xf0) return {4, 0x90, 0xbf};
  if (byte < 0xf4) return {4, 0x80, 0xbf};
  if (byte == 0xf4) return {4, 0x80, 0x8f};
  return {0, 0, 0};
}

}  // namespace

Utf8Unit next_unit(std::string_view text) noexcept {
  using Kind = Utf8Unit::Kind;
  const Lead lead = lead_of(static_cast<unsigned char>(text[0]));
  if (lead.size == 0) return {Kind::broken, 1};
  for (std::uint8_t i = 1; i < lead.size; ++i) {
    if (i >= text.size()) return {Kind::unfinished, i};
    const auto byte = static_cast<unsigned char>(text[i]);
    const unsigned char min = i == 1 ? lead.second_min : 0x80;
    const unsigned char max = i == 1 ? lead.second_max : 0xbf;
    if (byte < min || byte > max) return {Kind::broken, i};
  }
  return {Kind::character, lead.size};
}

}  // namespace tickertape::kernels::text
