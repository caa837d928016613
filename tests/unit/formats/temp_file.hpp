// TempFile: bytes in a file that goes away with its object.
#pragma once
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>

#include <tickertape/errors.hpp>

#include "kernels/formats/gguf.hpp"

namespace tickertape::test {

class TempFile {
 public:
  explicit TempFile(std::string_view bytes) {
    std::string name = (std::filesystem::temp_directory_path() / "tickertape_XXXXXX").string();
    const int descriptor = ::mkstemp(name.data());
    if (descriptor < 0) throw std::runtime_error("mkstemp failed for " + name);
    ::close(descriptor);
    path_ = name;
    std::ofstream out(path_, std::ios::binary);
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    if (!out.flush()) throw std::runtime_error("writing failed for " + name);
  }
  ~TempFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  TempFile(const TempFile&) = delete;
  TempFile& operator=(const TempFile&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
};

/// The message with which a file is refused; empty when it is accepted. Any exception other than
/// invalid_model passes through and fails the test.
inline std::string refusal(const std::filesystem::path& path) {
  try {
    static_cast<void>(kernels::formats::GgufFile::open(path));
  } catch (const Error& error) {
    if (error.info().code != Errc::invalid_model) throw;
    return error.what();
  }
  return {};
}

inline std::string refusal_of(std::string_view bytes) {
  return refusal(TempFile(bytes).path());
}

}  // namespace tickertape::test
