// GgufBuilder: GGUF files made byte by byte, valid ones and broken ones.
#pragma once
#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace tickertape::test {

/// The bytes of an integer, little-endian, as a file has them.
template <class Integer>
std::string little_endian(Integer value) {
  std::string bytes;
  for (std::size_t i = 0; i < sizeof(Integer); ++i) {
    bytes += static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * i) & 0xff);
  }
  return bytes;
}

inline std::string gguf_string(std::string_view text) {
  return little_endian<std::uint64_t>(text.size()) + std::string(text);
}

/// Value type ids of the format.
enum GgufTypeId : std::uint32_t {
  gguf_u8 = 0,
  gguf_i8 = 1,
  gguf_u16 = 2,
  gguf_i16 = 3,
  gguf_u32 = 4,
  gguf_i32 = 5,
  gguf_f32 = 6,
  gguf_bool = 7,
  gguf_string_id = 8,
  gguf_array = 9,
  gguf_u64 = 10,
  gguf_i64 = 11,
  gguf_f64 = 12
};

class GgufBuilder {
 public:
  GgufBuilder& version(std::uint32_t value) {
    version_ = value;
    return *this;
  }
  /// A key whose value is the given bytes, whatever the type id makes of them.
  GgufBuilder& raw(std::string_view key, std::uint32_t type, std::string_view value) {
    keys_ += gguf_string(key) + little_endian(type);
    keys_ += value;
    ++num_keys_;
    return *this;
  }
  GgufBuilder& u32(std::string_view key, std::uint32_t value) {
    return raw(key, gguf_u32, little_endian(value));
  }
  GgufBuilder& f32(std::string_view key, float value) {
    return raw(key, gguf_f32, little_endian(std::bit_cast<std::uint32_t>(value)));
  }
  GgufBuilder& boolean(std::string_view key, bool value) {
    return raw(key, gguf_bool, little_endian<std::uint8_t>(value ? 1 : 0));
  }
  GgufBuilder& string(std::string_view key, std::string_view value) {
    return raw(key, gguf_string_id, gguf_string(value));
  }
  GgufBuilder& strings(std::string_view key, const std::vector<std::string>& values) {
    std::string bytes = array_head(gguf_string_id, values.size());
    for (const std::string& value : values) bytes += gguf_string(value);
    return raw(key, gguf_array, bytes);
  }
  GgufBuilder& i32s(std::string_view key, const std::vector<std::int32_t>& values) {
    std::string bytes = array_head(gguf_i32, values.size());
    for (const std::int32_t value : values) bytes += little_endian(value);
    return raw(key, gguf_array, bytes);
  }
  GgufBuilder& f32s(std::string_view key, const std::vector<float>& values) {
    std::string bytes = array_head(gguf_f32, values.size());
    for (const float value : values) bytes += little_endian(std::bit_cast<std::uint32_t>(value));
    return raw(key, gguf_array, bytes);
  }

  /// A tensor with its data, placed after the earlier ones at the next multiple of 32.
  GgufBuilder& tensor(std::string_view name, std::uint32_t type,
                      const std::vector<std::uint64_t>& dims, std::string_view data) {
    data_.resize((data_.size() + 31) / 32 * 32);
    raw_tensor(name, static_cast<std::uint32_t>(dims.size()), dims, type, data_.size());
    data_ += data;
    return *this;
  }
  GgufBuilder& raw_tensor(std::string_view name, std::uint32_t num_dims,
                          const std::vector<std::uint64_t>& dims, std::uint32_t type,
                          std::uint64_t offset) {
    tensors_ += gguf_string(name) + little_endian(num_dims);
    for (const std::uint64_t dim : dims) tensors_ += little_endian(dim);
    tensors_ += little_endian(type) + little_endian(offset);
    ++num_tensors_;
    return *this;
  }

  [[nodiscard]] std::string header() const {
    return "GGUF" + little_endian(version_) + little_endian(num_tensors_) +
           little_endian(num_keys_) + keys_ + tensors_;
  }
  [[nodiscard]] std::string build(std::uint64_t alignment = 32) const {
    std::string bytes = header();
    bytes.resize((bytes.size() + alignment - 1) / alignment * alignment);
    return bytes + data_;
  }

  static std::string array_head(std::uint32_t type, std::uint64_t count) {
    return little_endian(type) + little_endian(count);
  }

 private:
  std::uint32_t version_ = 3;
  std::uint64_t num_keys_ = 0;
  std::uint64_t num_tensors_ = 0;
  std::string keys_;
  std::string tensors_;
  std::string data_;
};

}  // namespace tickertape::test
