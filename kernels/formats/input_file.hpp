// InputFile: a regular file opened for reading at any offset.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

namespace tickertape::kernels::formats {

/// Reads with pread, never through a mapping: a file that is cut while the process runs gives an
/// error, not a SIGBUS. Reading is const and safe from many threads.
class InputFile {
 public:
  /// Throws tickertape::Error(invalid_model) when the path cannot be opened or is not a file.
  explicit InputFile(std::filesystem::path path);
  ~InputFile();
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&& other) noexcept;

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
  /// Bytes, as they were when the file was opened.
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }

  /// Fills `out` from `offset`; throws tickertape::Error(invalid_model) naming `what` when the file
  /// ends before that or the device fails.
  void read_at(std::uint64_t offset, std::span<std::byte> out, std::string_view what) const;

 private:
  std::filesystem::path path_;
  std::uint64_t size_ = 0;
  int descriptor_ = -1;
};

}  // namespace tickertape::kernels::formats
