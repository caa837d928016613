// The byte alphabet of GPT-2.
#include "kernels/text/byte_alphabet.hpp"

#include <array>
#include <cstdint>

#include "kernels/text/utf8.hpp"

namespace tickertape::kernels::text {
namespace {

constexpr bool stands_for_itself(unsigned byte) {
  return (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xff && byte != 0xad);
}

struct Alphabet {
  std::array<std::uint16_t, 256> code_point{};
  std::array<std::int16_t, 0x200> byte{};

  constexpr Alphabet() {
    byte.fill(-1);
    std::uint16_t next = 0x100;
    for (unsigned b = 0; b < 256; ++b) {
      code_point[b] = stands_for_itself(b) ? static_cast<std::uint16_t>(b) : next++;
      byte[code_point[b]] = static_cast<std::int16_t>(b);
    }
  }
};

constexpr Alphabet kAlphabet;

}  // namespace

std::optional<std::string> bytes_from_alphabet(std::string_view written) {
  std::string bytes;
  while (!written.empty()) {
    const Utf8Unit unit = next_unit(written);
    if (unit.kind != Utf8Unit::Kind::character || unit.size > 2) return std::nullopt;
    unsigned code_point = static_cast<unsigned char>(written[0]);
    if (unit.size == 2) {
      code_point = (code_point & 0x1f) << 6 | (static_cast<unsigned char>(written[1]) & 0x3f);
    }
    if (code_point >= kAlphabet.byte.size() || kAlphabet.byte[code_point] < 0) return std::nullopt;
    bytes += static_cast<char>(kAlphabet.byte[code_point]);
    written.remove_prefix(unit.size);
  }
  return bytes;
}

std::string bytes_to_alphabet(std::string_view bytes) {
  std::string written;
  for (const char byte : bytes) {
    const unsigned code_point = kAlphabet.code_point[static_cast<unsigned char>(byte)];
    if (code_point < 0x80) {
      written += static_cast<char>(code_point);
    } else {
      written += static_cast<char>(0xc0 | code_point >> 6);
      written += static_cast<char>(0x80 | (code_point & 0x3f));
    }
  }
  return written;
}

}  // namespace tickertape::kernels::text
