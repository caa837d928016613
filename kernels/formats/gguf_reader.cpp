// GgufReader: fields, strings and typed values.
#include "kernels/formats/gguf_reader.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include <tickertape/errors.hpp>

namespace tickertape::kernels::formats {
namespace {

/// The value types of the GGUF specification.
enum ValueType : std::uint32_t {
  value_u8 = 0,
  value_i8 = 1,
  value_u16 = 2,
  value_i16 = 3,
  value_u32 = 4,
  value_i32 = 5,
  value_f32 = 6,
  value_bool = 7,
  value_string = 8,
  value_array = 9,
  value_u64 = 10,
  value_i64 = 11,
  value_f64 = 12
};

/// Bytes of a value in the file, for a string its length field alone; 0 for other ids.
std::uint64_t stored_bytes(std::uint32_t type) {
  switch (type) {
    case value_u8:
    case value_i8:
    case value_bool:
      return 1;
    case value_u16:
    case value_i16:
      return 2;
    case value_u32:
    case value_i32:
    case value_f32:
      return 4;
    case value_string:
    case value_u64:
    case value_i64:
    case value_f64:
      return 8;
    default:
      return 0;
  }
}

/// Metadata is a vocabulary and some settings: 262,144 tokens with their merges take about 40 MB. A
/// file that claims much more is damaged and must not cost the memory.
constexpr std::uint64_t kMaxMetadataBytes = std::uint64_t{1} << 28;

std::int64_t sign_extend(std::uint64_t value, std::size_t size) {
  const auto shift = static_cast<unsigned>(64 - 8 * size);
  return static_cast<std::int64_t>(value << shift) >> shift;
}

}  // namespace

void GgufReader::fail(std::string_view message) const {
  throw Error(Errc::invalid_model, file_.path().string() + ": " + std::string(message));
}

void GgufReader::require(std::uint64_t bytes, std::string_view what) const {
  if (bytes <= bytes_left()) return;
  fail("is truncated: " + std::string(what) + " at byte " + std::to_string(offset_) + " needs " +
       std::to_string(bytes) + " bytes, the file of " + std::to_string(file_.size()) +
       " bytes has " + std::to_string(bytes_left()) + " left");
}

void GgufReader::charge(std::uint64_t bytes, std::string_view what) {
  memory_bytes_ += bytes;
  if (memory_bytes_ > kMaxMetadataBytes) {
    fail("the metadata exceeds " + std::to_string(kMaxMetadataBytes) + " bytes at " +
         std::string(what));
  }
}

void GgufReader::read(std::byte* out, std::size_t size, std::string_view what) {
  require(size, what);
  while (size > 0) {
    const std::uint64_t at = offset_ - buffer_start_;
    if (at >= buffer_size_) {
      buffer_start_ = offset_;
      buffer_size_ = static_cast<std::size_t>(std::min<std::uint64_t>(kBufferBytes, bytes_left()));
      file_.read_at(buffer_start_, std::span(buffer_).first(buffer_size_), what);
      continue;
    }
    const std::size_t count =
        std::min<std::size_t>(size, buffer_size_ - static_cast<std::size_t>(at));
    std::memcpy(out, buffer_.data() + at, count);
    out += count;
    size -= count;
    offset_ += count;
  }
}

std::uint64_t GgufReader::read_unsigned(std::size_t size, std::string_view what) {
  std::array<std::byte, 8> bytes{};
  read(bytes.data(), size, what);
  std::uint64_t value = 0;
  for (std::size_t i = size; i-- > 0;)
    value = value << 8 | std::to_integer<std::uint64_t>(bytes[i]);
  return value;
}

std::uint64_t GgufReader::read_count(std::uint64_t min_bytes, std::string_view what) {
  const std::uint64_t count = read_u64(what);
  if (count > bytes_left() / min_bytes) {
    fail(std::string(what) + " is " + std::to_string(count) + ", which needs at least " +
         std::to_string(min_bytes) + " bytes each; the file of " + std::to_string(file_.size()) +
         " bytes has " + std::to_string(bytes_left()) + " left (truncated or damaged)");
  }
  return count;
}

std::string GgufReader::read_string(std::uint64_t max_bytes, std::string_view what) {
  const std::uint64_t length = read_u64(what);
  require(length, what);
  if (length > max_bytes) {
    fail(std::string(what) + " is " + std::to_string(length) + " bytes long, the limit is " +
         std::to_string(max_bytes));
  }
  charge(sizeof(std::string) + length, what);
  std::string text(static_cast<std::size_t>(length), '\0');
  read(reinterpret_cast<std::byte*>(text.data()), text.size(), what);
  return text;
}

GgufValue GgufReader::read_value(std::string_view what) {
  const std::uint32_t type = read_u32(what);
  return type == value_array ? read_array(what) : read_scalar(type, what);
}

GgufValue GgufReader::read_scalar(std::uint32_t type, std::string_view what) {
  const std::uint64_t size = stored_bytes(type);
  if (size == 0) fail(std::string(what) + " has the unknown value type " + std::to_string(type));
  if (type == value_string) return read_string(kMaxMetadataBytes, what);
  const std::uint64_t raw = read_unsigned(static_cast<std::size_t>(size), what);
  switch (type) {
    case value_i8:
    case value_i16:
    case value_i32:
    case value_i64:
      return sign_extend(raw, static_cast<std::size_t>(size));
    case value_f32:
      return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(raw)));
    case value_f64:
      return std::bit_cast<double>(raw);
    case value_bool:
      if (raw > 1) fail(std::string(what) + " is a bool with the value " + std::to_string(raw));
      return raw == 1;
    default:
      return raw;
  }
}

template <class Element>
GgufValue GgufReader::read_elements(std::uint32_t type, std::uint64_t count,
                                    std::string_view what) {
  std::vector<Element> elements;
  // Strings are charged one by one: their count alone may be far more than their memory allows.
  if constexpr (!std::is_same_v<Element, std::string>) {
    charge(count * sizeof(Element), what);
    elements.reserve(static_cast<std::size_t>(count));
  }
  for (std::uint64_t i = 0; i < count; ++i) {
    GgufValue value = read_scalar(type, what);
    if constexpr (std::is_same_v<Element, std::uint64_t>) {
      const bool* flag = std::get_if<bool>(&value);
      elements.push_back(flag != nullptr ? std::uint64_t{*flag} : std::get<Element>(value));
    } else {
      elements.push_back(std::get<Element>(std::move(value)));
    }
  }
  return elements;
}

GgufValue GgufReader::read_array(std::string_view what) {
  const std::uint32_t type = read_u32(what);
  if (type == value_array) fail(std::string(what) + " is an array of arrays, which has no use");
  const std::uint64_t size = stored_bytes(type);
  if (size == 0) {
    fail(std::string(what) + " is an array of the unknown value type " + std::to_string(type));
  }
  const std::uint64_t count = read_count(size, "array length of " + std::string(what));
  switch (type) {
    case value_string:
      return read_elements<std::string>(type, count, what);
    case value_f32:
    case value_f64:
      return read_elements<double>(type, count, what);
    case value_i8:
    case value_i16:
    case value_i32:
    case value_i64:
      return read_elements<std::int64_t>(type, count, what);
    default:
      return read_elements<std::uint64_t>(type, count, what);
  }
}

}  // namespace tickertape::kernels::formats
