// FakeTokenizer: text for a vocabulary of numbers.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <tickertape/tokenizer.hpp>

namespace tickertape::kernels::fake {

/// Id 0 is the control token `<|end|>`, ids 1 to 256 are the bytes 0 to 255, id n beyond is written
/// `[n]`. encode() gives one id per byte; a vocabulary that is too small for all bytes folds them.
class FakeTokenizer final : public Tokenizer {
 public:
  explicit FakeTokenizer(std::uint32_t vocab_size);

  [[nodiscard]] std::vector<TokenId> encode(std::string_view text,
                                            bool parse_special) const override;
  [[nodiscard]] std::vector<TokenId> encode_spans(std::span<const PromptSpan> spans) const override;
  [[nodiscard]] std::string_view bytes(TokenId id) const override;
  [[nodiscard]] bool is_control(TokenId id) const override { return id == kEnd; }
  [[nodiscard]] std::size_t vocab_size() const noexcept override { return pieces_.size(); }
  [[nodiscard]] std::span<const TokenId> end_tokens() const noexcept override;
  [[nodiscard]] TokenId begin_token() const noexcept override { return -1; }
  [[nodiscard]] std::size_t longest_token() const noexcept override { return longest_token_; }

 private:
  static constexpr TokenId kEnd = 0;
  std::vector<std::string> pieces_;
  std::size_t longest_token_ = 0;
};

}  // namespace tickertape::kernels::fake
