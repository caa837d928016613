// read_file: bytes of a file, with errors that name it.
#include "tools/tickertape/read_file.hpp"

#include <fmt/core.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <tickertape/errors.hpp>

namespace tickertape::program {
namespace {

constexpr std::size_t kMaxBytes = 1ULL << 30;

[[noreturn]] void refuse(const std::string& path, const char* why) {
  throw Error(Errc::invalid_request, fmt::format("{}: {}", path, why));
}

std::string read_all(std::FILE* file, const std::string& path) {
  std::string text;
  std::array<char, 1 << 16> part{};
  while (const std::size_t count = std::fread(part.data(), 1, part.size(), file)) {
    text.append(part.data(), count);
    if (text.size() > kMaxBytes) refuse(path, "larger than 1 GiB");
  }
  if (std::ferror(file) != 0) refuse(path, std::strerror(errno));
  return text;
}

}  // namespace

std::string read_file(const std::string& path) {
  if (path == "-") return read_all(stdin, "standard input");
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                             &std::fclose);
  if (!file) refuse(path, std::strerror(errno));
  struct stat status{};
  if (::fstat(::fileno(file.get()), &status) == 0 && S_ISDIR(status.st_mode)) {
    refuse(path, "is a folder");
  }
  return read_all(file.get(), path);
}

}  // namespace tickertape::program
