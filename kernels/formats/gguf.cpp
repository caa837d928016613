// GgufFile: the header, typed look-ups, reading of tensors.
#include "kernels/formats/gguf.hpp"

#include <algorithm>
#include <bit>
#include <type_traits>
#include <utility>

#include <tickertape/assert.hpp>
#include <tickertape/errors.hpp>

#include "kernels/formats/gguf_reader.hpp"

namespace tickertape::kernels::formats {
namespace {

constexpr std::uint64_t kMaxKeyBytes = 65535;  // The specification's limit.
constexpr std::uint64_t kMaxTensorNameBytes = 1024;
constexpr std::uint32_t kMagic = 0x46554747;  // "GGUF"
constexpr std::uint32_t kMagicSwapped = 0x47475546;

void check_preamble(GgufReader& reader) {
  const std::uint32_t magic = reader.read_u32("the GGUF magic");
  if (magic == kMagicSwapped) reader.fail("is a big-endian GGUF file, which is not supported");
  if (magic != kMagic) reader.fail("is not a GGUF file (the magic bytes are wrong)");
  const std::uint32_t version = reader.read_u32("the GGUF version");
  if ((version & 0xffff) == 0 && version != 0) {
    reader.fail("is a big-endian GGUF file, which is not supported");
  }
  if (version != 2 && version != 3) {
    reader.fail("has GGUF version " + std::to_string(version) + "; versions 2 and 3 are supported");
  }
}

/// Sizes a tensor whose dims are read; false when the size exceeds 64 bits.
bool size_tensor(TensorInfo& info, const GgmlTypeTraits& type) {
  std::uint64_t elements = 1;
  for (const std::uint64_t dim : info.dims) {
    if (__builtin_mul_overflow(elements, dim, &elements)) return false;
  }
  return !__builtin_mul_overflow(elements / type.block_size, std::uint64_t{type.block_bytes},
                                 &info.size_bytes);
}

/// One entry of the tensor list; file_offset is still relative to the data section.
TensorInfo read_tensor_info(GgufReader& reader, std::uint64_t index) {
  TensorInfo info;
  info.name =
      reader.read_string(kMaxTensorNameBytes, "the name of tensor " + std::to_string(index));
  const std::string label = "tensor " + info.name;
  info.num_dims = reader.read_u32("the dimension count of " + label);
  if (info.num_dims < 1 || info.num_dims > info.dims.size()) {
    reader.fail("the dimension count of " + label + " is " + std::to_string(info.num_dims) +
                "; 1 to 4 are supported");
  }
  for (std::uint32_t i = 0; i < info.num_dims; ++i) {
    info.dims[i] = reader.read_u64("a dimension of " + label);
    if (info.dims[i] == 0) reader.fail("dimension " + std::to_string(i) + " of " + label + " is 0");
  }
  const std::uint32_t type_id = reader.read_u32("the type of " + label);
  const GgmlTypeTraits* type = find_traits(type_id);
  if (type == nullptr) {
    reader.fail("the type of " + label + " is " + std::to_string(type_id) + ", which is unknown");
  }
  info.type = type->type;
  if (info.dims[0] % type->block_size != 0) {
    reader.fail("dimension 0 of " + label + " is " + std::to_string(info.dims[0]) +
                ", not a multiple of the " + std::string(type->name) + " block size " +
                std::to_string(type->block_size));
  }
  if (!size_tensor(info, *type)) reader.fail("the dimensions of " + label + " overflow 64 bits");
  info.file_offset = reader.read_u64("the offset of " + label);
  return info;
}

std::string_view kind_name(const GgufValue& value) {
  constexpr std::string_view kNames[] = {"unsigned integer",
                                         "signed integer",
                                         "float",
                                         "bool",
                                         "string",
                                         "array of unsigned integers",
                                         "array of signed integers",
                                         "array of floats",
                                         "array of strings"};
  static_assert(std::size(kNames) == std::variant_size_v<GgufValue>);
  return kNames[value.index()];
}

template <class T>
std::string range_text(std::string_view key, const std::string& value, T min, T max) {
  return "key " + std::string(key) + " is " + value + ", allowed are " + std::to_string(min) +
         " to " + std::to_string(max);
}

}  // namespace

GgufFile GgufFile::open(const std::filesystem::path& path) {
  GgufFile gguf{InputFile(path)};
  GgufReader reader(gguf.file_);
  check_preamble(reader);
  // The smallest tensor entry is a name of no bytes, one dimension, a type and an offset.
  const std::uint64_t num_tensors = reader.read_count(32, "the tensor count");
  const std::uint64_t num_keys = reader.read_count(13, "the metadata count");
  for (std::uint64_t i = 0; i < num_keys; ++i) {
    std::string key =
        reader.read_string(kMaxKeyBytes, "the name of metadata key " + std::to_string(i));
    GgufValue value = reader.read_value("key " + key);
    const auto [at, inserted] = gguf.metadata_.emplace(std::move(key), std::move(value));
    if (!inserted) reader.fail("key " + at->first + " appears twice");
  }
  for (std::uint64_t i = 0; i < num_tensors; ++i) {
    gguf.tensors_.push_back(read_tensor_info(reader, i));
  }
  gguf.index_tensors();
  gguf.place_tensors(reader.offset());
  return gguf;
}

std::uint64_t GgufFile::alignment() const {
  constexpr std::uint32_t kDefault = 32;
  constexpr std::uint32_t kMax = 1U << 30;
  const std::uint32_t value = find_u32("general.alignment", 8, kMax).value_or(kDefault);
  if (!std::has_single_bit(value)) {
    fail("key general.alignment is " + std::to_string(value) + ", which is not a power of two");
  }
  return value;
}

void GgufFile::index_tensors() {
  tensor_index_.reserve(tensors_.size());
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    if (!tensor_index_.emplace(tensors_[i].name, i).second) {
      fail("tensor " + tensors_[i].name + " appears twice");
    }
  }
}

void GgufFile::place_tensors(std::uint64_t header_end) {
  const std::uint64_t unit = alignment();
  const std::uint64_t data_start = (header_end + unit - 1) / unit * unit;
  std::uint64_t expected_size = 0;
  for (TensorInfo& info : tensors_) {
    if (info.file_offset % unit != 0) {
      fail("the offset of tensor " + info.name + " is " + std::to_string(info.file_offset) +
           ", not a multiple of the alignment " + std::to_string(unit));
    }
    std::uint64_t end = 0;
    if (__builtin_add_overflow(info.file_offset, data_start, &info.file_offset) ||
        __builtin_add_overflow(info.file_offset, info.size_bytes, &end)) {
      fail("the offset of tensor " + info.name + " overflows 64 bits");
    }
    expected_size = std::max(expected_size, end);
  }
  if (expected_size > file_size()) {
    fail("is truncated: the tensors need " + std::to_string(expected_size) +
         " bytes, the file has " + std::to_string(file_size()));
  }
}

void GgufFile::fail(const std::string& message) const {
  throw Error(Errc::invalid_model, path().string() + ": " + message);
}

void GgufFile::fail_kind(std::string_view key, std::string_view wanted,
                         const GgufValue& value) const {
  fail("key " + std::string(key) + " is a value of kind " + std::string(kind_name(value)) +
       ", expected is " + std::string(wanted));
}

const GgufValue* GgufFile::find(std::string_view key) const noexcept {
  const auto at = metadata_.find(key);
  return at == metadata_.end() ? nullptr : &at->second;
}

std::optional<std::uint32_t> GgufFile::find_u32(std::string_view key, std::uint32_t min,
                                                std::uint32_t max) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (const auto* number = std::get_if<std::uint64_t>(value)) {
    if (*number >= min && *number <= max) return static_cast<std::uint32_t>(*number);
    fail(range_text(key, std::to_string(*number), min, max));
  }
  if (const auto* number = std::get_if<std::int64_t>(value)) {
    if (*number >= std::int64_t{min} && *number <= std::int64_t{max}) {
      return static_cast<std::uint32_t>(*number);
    }
    fail(range_text(key, std::to_string(*number), min, max));
  }
  fail_kind(key, "an integer", *value);
}

std::optional<float> GgufFile::find_f32(std::string_view key, float min, float max) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  const auto* number = std::get_if<double>(value);
  if (number == nullptr) fail_kind(key, "a float", *value);
  // Written so that a NaN is out of range.
  if (!(*number >= double{min} && *number <= double{max})) {
    fail(range_text(key, std::to_string(*number), min, max));
  }
  return static_cast<float>(*number);
}

std::optional<bool> GgufFile::find_bool(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  const bool* flag = std::get_if<bool>(value);
  if (flag == nullptr) fail_kind(key, "a bool", *value);
  return *flag;
}

std::optional<std::string_view> GgufFile::find_string(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  const auto* text = std::get_if<std::string>(value);
  if (text == nullptr) fail_kind(key, "a string", *value);
  return std::string_view(*text);
}

std::optional<std::span<const std::string>> GgufFile::find_string_array(
    std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  const auto* strings = std::get_if<std::vector<std::string>>(value);
  if (strings == nullptr) fail_kind(key, "an array of strings", *value);
  return std::span<const std::string>(*strings);
}

std::optional<std::vector<std::int32_t>> GgufFile::find_i32_array(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  std::vector<std::int32_t> numbers;
  const auto convert = [&](const auto& source) {
    numbers.reserve(source.size());
    for (const auto number : source) {
      if (!std::in_range<std::int32_t>(number)) {
        fail("key " + std::string(key) + " holds " + std::to_string(number) +
             ", which is outside of 32 bits");
      }
      numbers.push_back(static_cast<std::int32_t>(number));
    }
  };
  if (const auto* source = std::get_if<std::vector<std::uint64_t>>(value)) {
    convert(*source);
  } else if (const auto* signed_source = std::get_if<std::vector<std::int64_t>>(value)) {
    convert(*signed_source);
  } else {
    fail_kind(key, "an array of integers", *value);
  }
  return numbers;
}

std::optional<std::vector<float>> GgufFile::find_f32_array(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  const auto* source = std::get_if<std::vector<double>>(value);
  if (source == nullptr) fail_kind(key, "an array of floats", *value);
  return std::vector<float>(source->begin(), source->end());
}

std::uint32_t GgufFile::get_u32(std::string_view key, std::uint32_t min, std::uint32_t max) const {
  return get(key, find_u32(key, min, max));
}

float GgufFile::get_f32(std::string_view key, float min, float max) const {
  return get(key, find_f32(key, min, max));
}

std::string_view GgufFile::get_string(std::string_view key) const {
  return get(key, find_string(key));
}

std::span<const std::string> GgufFile::get_string_array(std::string_view key) const {
  return get(key, find_string_array(key));
}

std::vector<std::int32_t> GgufFile::get_i32_array(std::string_view key) const {
  return get(key, find_i32_array(key));
}

std::vector<float> GgufFile::get_f32_array(std::string_view key) const {
  return get(key, find_f32_array(key));
}

const TensorInfo* GgufFile::find_tensor(std::string_view name) const noexcept {
  const auto at = tensor_index_.find(name);
  return at == tensor_index_.end() ? nullptr : &tensors_[at->second];
}

const TensorInfo& GgufFile::get_tensor(std::string_view name) const {
  const TensorInfo* info = find_tensor(name);
  if (info == nullptr) fail("tensor " + std::string(name) + " is missing");
  return *info;
}

void GgufFile::read_tensor(const TensorInfo& info, std::span<std::byte> out) const {
  TICKERTAPE_ASSERT(out.size() == info.size_bytes);
  read_tensor_part(info, 0, out);
}

void GgufFile::read_tensor_part(const TensorInfo& info, std::uint64_t offset_bytes,
                                std::span<std::byte> out) const {
  TICKERTAPE_ASSERT(offset_bytes <= info.size_bytes &&
                    out.size() <= info.size_bytes - offset_bytes);
  file_.read_at(info.file_offset + offset_bytes, out, "tensor " + info.name);
}

}  // namespace tickertape::kernels::formats
