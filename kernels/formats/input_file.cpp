// InputFile: open, stat, pread.
#include "kernels/formats/input_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

#include <tickertape/errors.hpp>

namespace tickertape::kernels::formats {
namespace {

[[noreturn]] void fail(const std::filesystem::path& path, const std::string& message) {
  throw Error(Errc::invalid_model, path.string() + ": " + message);
}

std::string system_message(int code) {
  return std::generic_category().message(code);
}

}  // namespace

InputFile::InputFile(std::filesystem::path path) : path_(std::move(path)) {
  // O_NONBLOCK: opening a FIFO must give the refusal below, not wait for a writer.
  descriptor_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor_ < 0) fail(path_, "cannot be opened: " + system_message(errno));
  struct stat status{};
  const bool known = ::fstat(descriptor_, &status) == 0;
  if (!known || !S_ISREG(status.st_mode)) {
    ::close(std::exchange(descriptor_, -1));
    fail(path_,
         known && S_ISDIR(status.st_mode) ? "is a directory, not a file" : "is not a regular file");
  }
  size_ = static_cast<std::uint64_t>(status.st_size);
}

InputFile::~InputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

InputFile::InputFile(InputFile&& other) noexcept
    : path_(std::move(other.path_)),
      size_(other.size_),
      descriptor_(std::exchange(other.descriptor_, -1)) {}

InputFile& InputFile::operator=(InputFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(size_, other.size_);
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

void InputFile::read_at(std::uint64_t offset, std::span<std::byte> out,
                        std::string_view what) const {
  constexpr std::size_t kMaxRead = std::size_t{1} << 30;
  const std::uint64_t wanted_end = offset + out.size();
  while (!out.empty()) {
    const ssize_t count = ::pread(descriptor_, out.data(), std::min(out.size(), kMaxRead),
                                  static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      fail(path_, "reading " + std::string(what) + " failed: " + system_message(errno));
    }
    if (count == 0) {
      fail(path_, "is truncated: " + std::string(what) + " ends at byte " +
                      std::to_string(wanted_end) + ", the file has " + std::to_string(offset));
    }
    offset += static_cast<std::uint64_t>(count);
    out = out.subspan(static_cast<std::size_t>(count));
  }
}

}  // namespace tickertape::kernels::formats
