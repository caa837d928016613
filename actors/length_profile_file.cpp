// LengthProfileFile: what a profile has learned about no client, between two lives of an engine.
#include "actors/length_profile_file.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <span>
#include <string_view>
#include <system_error>
#include <vector>

#include <tickertape/errors.hpp>

namespace tickertape::actors {
namespace {

constexpr std::string_view kFirstLine = "tickertape length profile, version 1";
constexpr std::size_t kOctaves = SharedLengths::kOctaves;

[[noreturn]] void fail(const std::string& path, const std::string& what) {
  throw Error(ErrorInfo{Errc::invalid_request, path + " " + what, "length_profile", 0});
}

/// The words of a line, each of which must be the expected thing.
class Words {
 public:
  explicit Words(std::string_view line) : left_(line) {}

  [[nodiscard]] bool empty() const noexcept { return left_.empty(); }
  /// Up to the next `end`, which is taken too.
  std::string_view word(char end = ' ') noexcept {
    const std::size_t length = std::min(left_.find(end), left_.size());
    const std::string_view word = left_.substr(0, length);
    left_.remove_prefix(std::min(length + 1, left_.size()));
    return word;
  }
  bool number(std::uint32_t& target, char end = ' ') noexcept {
    const std::string_view digits = word(end);
    const char* const last = digits.data() + digits.size();
    const auto [stop, error] = std::from_chars(digits.data(), last, target);
    return error == std::errc() && stop == last;
  }

 private:
  std::string_view left_;
};

std::string line_of(const LengthCounts& counts) {
  std::string line = std::to_string(counts.num_ended());
  for (const LengthCounts::Bucket& bucket : counts.buckets()) {
    line += ' ' + std::to_string(bucket.entered) + '/' + std::to_string(bucket.ended) + '/' +
            std::to_string(bucket.passed);
  }
  return line + '\n';
}

bool read_counts(Words& words, LengthCounts& counts) {
  std::uint32_t num_ended = 0;
  if (!words.number(num_ended)) return false;
  std::vector<LengthCounts::Bucket> buckets;
  while (!words.empty()) {
    LengthCounts::Bucket& bucket = buckets.emplace_back();
    if (buckets.size() > LengthBucket::kCount || !words.number(bucket.entered, '/') ||
        !words.number(bucket.ended, '/') || !words.number(bucket.passed)) {
      return false;
    }
  }
  counts = LengthCounts(buckets, num_ended);
  return true;
}

bool read_line(std::string_view line, SharedLengths& lengths) {
  Words words(line);
  const std::string_view name = words.word();
  if (name == "all") return read_counts(words, lengths.all);
  std::uint32_t octave = 0;
  if ((name != "completion" && name != "chat") || !words.number(octave) || octave >= kOctaves) {
    return false;
  }
  return read_counts(words, lengths.kinds[octave + (name == "chat" ? kOctaves : 0)]);
}

}  // namespace

SharedLengths read_length_profile(const std::string& path) {
  SharedLengths lengths;
  std::error_code error;
  if (!std::filesystem::exists(path, error) && !error) return lengths;
  std::ifstream file(path, std::ios::binary);
  std::string line;
  if (!file || !std::getline(file, line)) fail(path, "cannot be read, or is empty");
  if (line != kFirstLine) fail(path, "is no " + std::string(kFirstLine));
  for (std::size_t number = 2; std::getline(file, line); ++number) {
    if (!read_line(line, lengths)) {
      fail(path, "is not right in line " + std::to_string(number));
    }
  }
  if (file.bad()) fail(path, "cannot be read");
  return lengths;
}

void write_length_profile(const std::string& path, const SharedLengths& lengths) {
  // Whoever is killed meanwhile leaves the one before.
  const std::string whole = path + ".new";
  std::error_code error;
  {
    std::ofstream file(whole, std::ios::binary | std::ios::trunc);
    file << kFirstLine << "\nall " << line_of(lengths.all);
    for (std::size_t i = 0; i < lengths.kinds.size(); ++i) {
      if (lengths.kinds[i].buckets().empty()) continue;
      file << (i < kOctaves ? "completion " : "chat ") << i % kOctaves << ' '
           << line_of(lengths.kinds[i]);
    }
    file.close();
    if (!file) error = std::make_error_code(std::errc::io_error);
  }
  if (!error) std::filesystem::rename(whole, path, error);
  if (!error) return;
  std::error_code ignored;
  std::filesystem::remove(whole, ignored);
  fail(path, "cannot be written");
}

}  // namespace tickertape::actors
