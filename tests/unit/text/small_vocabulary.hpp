// A small vocabulary file: every byte, a few merges, two control tokens, a user-defined one.
#pragma once
#include <string>
#include <vector>

#include "kernels/text/byte_alphabet.hpp"
#include "tests/unit/formats/gguf_builder.hpp"

namespace tickertape::test {

/// Ids: 0 to 255 are the bytes; then "he", "ll", "hell", "hello", "  "; then the special tokens.
struct SmallVocabulary {
  std::vector<std::string> tokens;
  std::vector<std::int32_t> types;
  std::vector<std::string> merges = {"h e", "l l", "he ll", "hell o", "\xc4\xa0 \xc4\xa0"};

  static constexpr std::int32_t kNormal = 1;
  static constexpr std::int32_t kControl = 3;
  static constexpr std::int32_t kUserDefined = 4;
  static constexpr int kHe = 256;
  static constexpr int kHell = 258;
  static constexpr int kHello = 259;
  static constexpr int kTwoSpaces = 260;
  static constexpr int kStart = 261;
  static constexpr int kEnd = 262;
  static constexpr int kUser = 263;

  SmallVocabulary() {
    for (int byte = 0; byte < 256; ++byte) {
      add(kernels::text::bytes_to_alphabet(std::string(1, static_cast<char>(byte))));
    }
    for (const char* token : {"he", "ll", "hell", "hello", "\xc4\xa0\xc4\xa0"}) add(token);
    add("<|im_start|>", kControl);
    add("<|im_end|>", kControl);
    add("[user]", kUserDefined);
  }

  int add(const std::string& token, std::int32_t type = kNormal) {
    tokens.push_back(token);
    types.push_back(type);
    return static_cast<int>(tokens.size()) - 1;
  }

  [[nodiscard]] GgufBuilder file() const {
    GgufBuilder builder;
    builder.string("tokenizer.ggml.model", "gpt2")
        .strings("tokenizer.ggml.tokens", tokens)
        .i32s("tokenizer.ggml.token_type", types)
        .strings("tokenizer.ggml.merges", merges);
    return builder;
  }
};

}  // namespace tickertape::test
