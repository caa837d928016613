// RecordWriter and RecordReader: integers of a recording, as bytes.
#pragma once
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

namespace tickertape::actors {

/// CRC-32C (Castagnoli; RFC 3720, appendix B.4): the reflected polynomial 0x82f63b78.
[[nodiscard]] std::uint32_t crc32c(std::span<const char> bytes) noexcept;

/// Thrown for bytes that no writer has written.
class RecordDamage : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Appends values: LEB128, signed ones in zigzag; doubles and names, which have no small values, in
/// eight bytes.
class RecordWriter {
 public:
  template <class T>
  void operator()(const T& value) {
    if constexpr (std::is_same_v<T, double>) {
      fixed(std::bit_cast<std::uint64_t>(value));
    } else if constexpr (std::is_enum_v<T>) {
      (*this)(static_cast<std::underlying_type_t<T>>(value));
    } else if constexpr (std::signed_integral<T>) {
      const auto wide = static_cast<std::uint64_t>(std::int64_t{value});
      varint((wide << 1U) ^ (value < 0 ? ~std::uint64_t{0} : 0));
    } else {
      varint(value);
    }
  }
  void varint(std::uint64_t value);
  void fixed(std::uint64_t value);

  [[nodiscard]] const std::string& bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::string take() { return std::exchange(bytes_, {}); }

 private:
  std::string bytes_;
};

/// Takes them back. Throws RecordDamage at the end of the bytes and for values out of range.
class RecordReader {
 public:
  explicit RecordReader(std::span<const char> bytes) : bytes_(bytes) {}

  template <class T>
  void operator()(T& value) {
    if constexpr (std::is_same_v<T, double>) {
      value = std::bit_cast<double>(fixed());
    } else if constexpr (std::is_enum_v<T>) {
      std::underlying_type_t<T> number{};
      (*this)(number);
      value = static_cast<T>(number);
    } else if constexpr (std::signed_integral<T>) {
      const std::uint64_t zigzag = varint();
      const auto wide = static_cast<std::int64_t>((zigzag >> 1U) ^ (~(zigzag & 1U) + 1));
      if (wide < std::numeric_limits<T>::min() || wide > std::numeric_limits<T>::max()) refuse();
      value = static_cast<T>(wide);
    } else {
      const std::uint64_t wide = varint();
      if (wide > std::uint64_t{std::numeric_limits<T>::max()}) refuse();
      value = static_cast<T>(wide);
    }
  }
  [[nodiscard]] std::uint64_t varint();
  [[nodiscard]] std::uint64_t fixed();
  /// A number of things that each take at least a byte.
  [[nodiscard]] std::size_t count();
  [[nodiscard]] bool at_end() const noexcept { return next_ == bytes_.size(); }

 private:
  [[noreturn]] static void refuse();

  std::span<const char> bytes_;
  std::size_t next_ = 0;
};

}  // namespace tickertape::actors
