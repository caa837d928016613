// PreTokenizer: cuts text into the words that merges never cross.
#pragma once
#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

struct pcre2_real_code_8;

namespace tickertape::kernels::text {

/// A regular expression of a known model family. Immutable: any number of threads may split.
class PreTokenizer {
 public:
  /// The splitter of a `tokenizer.ggml.pre` name ("gpt-2", "smollm"); nullptr for other names.
  [[nodiscard]] static std::unique_ptr<const PreTokenizer> find(std::string_view name);

  /// Appends the words of `text` in order; together they are the whole text, byte for byte. A run
  /// of bytes that are not UTF-8 is a word of its own. Views point into `text`. Linear in its
  /// length.
  void split(std::string_view text, std::vector<std::string_view>& words) const;

 private:
  struct FreeCode {
    void operator()(pcre2_real_code_8* code) const noexcept;
  };
  explicit PreTokenizer(const char* pattern);

  std::unique_ptr<pcre2_real_code_8, FreeCode> code_;
};

}  // namespace tickertape::kernels::text
