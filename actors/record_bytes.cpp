// RecordWriter and RecordReader: integers of a recording, as bytes.
#include "actors/record_bytes.hpp"

#include <array>

namespace tickertape::actors {
namespace {

constexpr std::uint64_t kMore = 0x80;
constexpr unsigned kBits = 7;

constexpr std::array<std::uint32_t, 256> make_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < table.size(); ++i) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) {
      value = (value >> 1U) ^ ((value & 1U) != 0 ? 0x82f63b78U : 0U);
    }
    table.at(i) = value;
  }
  return table;
}

}  // namespace

std::uint32_t crc32c(std::span<const char> bytes) noexcept {
  static constexpr std::array<std::uint32_t, 256> kTable = make_table();
  std::uint32_t crc = ~0U;
  for (const char byte : bytes) {
    crc = (crc >> 8U) ^ kTable[(crc ^ static_cast<unsigned char>(byte)) & 0xffU];
  }
  return ~crc;
}

void RecordWriter::varint(std::uint64_t value) {
  for (; value >= kMore; value >>= kBits) bytes_.push_back(static_cast<char>(value | kMore));
  bytes_.push_back(static_cast<char>(value));
}

void RecordWriter::fixed(std::uint64_t value) {
  for (unsigned shift = 0; shift < 64; shift += 8) {
    bytes_.push_back(static_cast<char>(value >> shift));
  }
}

std::uint64_t RecordReader::varint() {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += kBits) {
    if (at_end()) refuse();
    const std::uint64_t byte = static_cast<unsigned char>(bytes_[next_++]);
    value |= (byte & (kMore - 1)) << shift;
    if (byte < kMore) return value;
  }
  refuse();
}

std::uint64_t RecordReader::fixed() {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 8) {
    if (at_end()) refuse();
    value |= std::uint64_t{static_cast<unsigned char>(bytes_[next_++])} << shift;
  }
  return value;
}

std::size_t RecordReader::count() {
  const std::uint64_t number = varint();
  if (number > bytes_.size() - next_) refuse();
  return static_cast<std::size_t>(number);
}

void RecordReader::refuse() {
  throw RecordDamage("a block holds what no recorder writes");
}

}  // namespace tickertape::actors
