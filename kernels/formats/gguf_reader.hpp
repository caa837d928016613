// GgufReader: the primitive fields of a GGUF header, each checked against the bytes left.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/formats/gguf.hpp"
#include "kernels/formats/input_file.hpp"

namespace tickertape::kernels::formats {

/// Reads forward through the header of a file. Every member throws tickertape::Error(invalid_model)
/// that names the field `what` when the file ends before the field does. Integers are
/// little-endian.
class GgufReader {
 public:
  explicit GgufReader(const InputFile& file) : file_(file), buffer_(kBufferBytes) {}

  [[nodiscard]] std::uint64_t offset() const noexcept { return offset_; }
  [[nodiscard]] std::uint64_t bytes_left() const noexcept { return file_.size() - offset_; }

  [[nodiscard]] std::uint32_t read_u32(std::string_view what) {
    return static_cast<std::uint32_t>(read_unsigned(4, what));
  }
  [[nodiscard]] std::uint64_t read_u64(std::string_view what) { return read_unsigned(8, what); }

  /// A count of things of at least `min_bytes` each, refused when they cannot fit in what is left.
  [[nodiscard]] std::uint64_t read_count(std::uint64_t min_bytes, std::string_view what);

  /// A length and as many bytes, at most `max_bytes`.
  [[nodiscard]] std::string read_string(std::uint64_t max_bytes, std::string_view what);

  /// A type id and a value of that type.
  [[nodiscard]] GgufValue read_value(std::string_view what);

  [[noreturn]] void fail(std::string_view message) const;

 private:
  static constexpr std::size_t kBufferBytes = std::size_t{1} << 16;

  void require(std::uint64_t bytes, std::string_view what) const;
  void read(std::byte* out, std::size_t size, std::string_view what);
  [[nodiscard]] std::uint64_t read_unsigned(std::size_t size, std::string_view what);
  [[nodiscard]] GgufValue read_scalar(std::uint32_t type, std::string_view what);
  [[nodiscard]] GgufValue read_array(std::string_view what);
  template <class Element>
  [[nodiscard]] GgufValue read_elements(std::uint32_t type, std::uint64_t count,
                                        std::string_view what);
  void charge(std::uint64_t bytes, std::string_view what);

  const InputFile& file_;
  std::vector<std::byte> buffer_;
  std::uint64_t offset_ = 0;        ///< Of the next byte to hand out.
  std::uint64_t buffer_start_ = 0;  ///< File offset of buffer_[0].
  std::size_t buffer_size_ = 0;
  std::uint64_t memory_bytes_ = 0;  ///< What the values read so far occupy.
};

}  // namespace tickertape::kernels::formats
