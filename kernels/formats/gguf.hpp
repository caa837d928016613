// GgufFile: the metadata and the tensors of a GGUF model file.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "kernels/formats/ggml_type.hpp"
#include "kernels/formats/input_file.hpp"

namespace tickertape::kernels::formats {

/// Where a tensor lies in its file. Its bytes are known to be inside the file.
struct TensorInfo {
  std::string name;
  GgmlType type = GgmlType::f32;
  std::uint32_t num_dims = 1;
  /// Fastest-varying first, as the file has them: a weight of n outputs and k inputs is {k, n}.
  /// Those past num_dims are 1; all are at least 1.
  std::array<std::uint64_t, 4> dims{1, 1, 1, 1};
  std::uint64_t file_offset = 0;  ///< Bytes from the start of the file.
  std::uint64_t size_bytes = 0;   ///< Bytes in the file.

  [[nodiscard]] std::uint64_t num_elements() const noexcept {
    return dims[0] * dims[1] * dims[2] * dims[3];
  }
};

/// A value of the metadata. Integers keep their sign and lose their width; both float types are
/// doubles. Arrays of bools are arrays of integers.
using GgufValue =
    std::variant<std::uint64_t, std::int64_t, double, bool, std::string, std::vector<std::uint64_t>,
                 std::vector<std::int64_t>, std::vector<double>, std::vector<std::string>>;

/// Reads version 2 and 3, little-endian (the GGUF specification of the ggml project). open() checks
/// every count, length and offset against the bytes that are left before it uses it, so a damaged
/// or hostile file costs one error message. Everything here throws
/// tickertape::Error(Errc::invalid_model) with one sentence that names the file and the field.
///
/// Immutable after open(): any number of threads may call any const member at the same time.
///
/// Of the look-ups, `get_x` throws when the key is missing and `find_x` gives nullopt then; both
/// throw when the value has another kind or lies outside [min, max]. An integer may be stored in
/// any integer type, a float in f32 or f64. Views and spans live as long as the GgufFile.
class GgufFile {
 public:
  static constexpr std::uint32_t kMaxU32 = std::numeric_limits<std::uint32_t>::max();

  [[nodiscard]] static GgufFile open(const std::filesystem::path& path);

  [[nodiscard]] bool has(std::string_view key) const noexcept { return find(key) != nullptr; }

  [[nodiscard]] std::uint32_t get_u32(std::string_view key, std::uint32_t min = 0,
                                      std::uint32_t max = kMaxU32) const;
  [[nodiscard]] float get_f32(std::string_view key, float min, float max) const;
  [[nodiscard]] std::string_view get_string(std::string_view key) const;
  [[nodiscard]] std::span<const std::string> get_string_array(std::string_view key) const;
  [[nodiscard]] std::vector<std::int32_t> get_i32_array(std::string_view key) const;
  [[nodiscard]] std::vector<float> get_f32_array(std::string_view key) const;

  [[nodiscard]] std::optional<std::uint32_t> find_u32(std::string_view key, std::uint32_t min = 0,
                                                      std::uint32_t max = kMaxU32) const;
  [[nodiscard]] std::optional<float> find_f32(std::string_view key, float min, float max) const;
  [[nodiscard]] std::optional<bool> find_bool(std::string_view key) const;
  [[nodiscard]] std::optional<std::string_view> find_string(std::string_view key) const;
  [[nodiscard]] std::optional<std::span<const std::string>> find_string_array(
      std::string_view key) const;
  [[nodiscard]] std::optional<std::vector<std::int32_t>> find_i32_array(std::string_view key) const;
  [[nodiscard]] std::optional<std::vector<float>> find_f32_array(std::string_view key) const;

  /// All tensors in the file's order.
  [[nodiscard]] std::span<const TensorInfo> tensors() const& noexcept { return tensors_; }
  std::span<const TensorInfo> tensors() const&& =
      delete;  // A loop over a temporary's would dangle.
  /// The tensor of this name, or nullptr.
  [[nodiscard]] const TensorInfo* find_tensor(std::string_view name) const noexcept;
  /// The tensor of this name; throws when the file has none.
  [[nodiscard]] const TensorInfo& get_tensor(std::string_view name) const;

  /// Reads a whole tensor. REQUIRES: out.size() == info.size_bytes.
  void read_tensor(const TensorInfo& info, std::span<std::byte> out) const;
  /// Reads out.size() bytes of a tensor from `offset_bytes` into it, for reading row by row.
  /// REQUIRES: offset_bytes + out.size() <= info.size_bytes.
  void read_tensor_part(const TensorInfo& info, std::uint64_t offset_bytes,
                        std::span<std::byte> out) const;

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return file_.path(); }
  [[nodiscard]] std::uint64_t file_size() const noexcept { return file_.size(); }
  /// Every key and value, sorted by key, for tools that print them.
  [[nodiscard]] const std::map<std::string, GgufValue, std::less<>>& metadata() const noexcept {
    return metadata_;
  }

  /// Throws the error of this file: "<path>: <message>". For readers that find a value impossible.
  [[noreturn]] void fail(const std::string& message) const;

 private:
  explicit GgufFile(InputFile file) : file_(std::move(file)) {}
  [[nodiscard]] const GgufValue* find(std::string_view key) const noexcept;
  /// The value that a find_x returned, or the error of a missing key.
  template <class T>
  [[nodiscard]] T get(std::string_view key, std::optional<T> found) const {
    if (!found) fail("key " + std::string(key) + " is missing");
    return *std::move(found);
  }
  [[noreturn]] void fail_kind(std::string_view key, std::string_view wanted,
                              const GgufValue& value) const;
  [[nodiscard]] std::uint64_t alignment() const;
  void index_tensors();
  void place_tensors(std::uint64_t header_end);

  InputFile file_;
  std::map<std::string, GgufValue, std::less<>> metadata_;
  std::vector<TensorInfo> tensors_;
  std::unordered_map<std::string_view, std::size_t> tensor_index_;
};

}  // namespace tickertape::kernels::formats
