// ScriptedTokenizer: a tokenizer with the extra tokens of a script.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <tickertape/tokenizer.hpp>

namespace tickertape::kernels::fake {

/// Ids below the base's vocab_size() are the base's; the pieces follow. Text is never encoded to a
/// piece.
class ScriptedTokenizer final : public Tokenizer {
 public:
  ScriptedTokenizer(std::shared_ptr<const Tokenizer> base, std::vector<std::string> pieces);

  [[nodiscard]] std::vector<TokenId> encode(std::string_view text,
                                            bool parse_special) const override {
    return base_->encode(text, parse_special);
  }
  [[nodiscard]] std::vector<TokenId> encode_spans(
      std::span<const PromptSpan> spans) const override {
    return base_->encode_spans(spans);
  }
  [[nodiscard]] std::string_view bytes(TokenId id) const override;
  [[nodiscard]] bool is_control(TokenId id) const override {
    return static_cast<std::size_t>(id) < base_->vocab_size() && base_->is_control(id);
  }
  [[nodiscard]] std::size_t vocab_size() const noexcept override {
    return base_->vocab_size() + pieces_.size();
  }
  [[nodiscard]] std::span<const TokenId> end_tokens() const noexcept override {
    return base_->end_tokens();
  }
  [[nodiscard]] TokenId begin_token() const noexcept override { return base_->begin_token(); }
  [[nodiscard]] std::size_t longest_token() const noexcept override { return longest_token_; }

 private:
  std::shared_ptr<const Tokenizer> base_;
  std::vector<std::string> pieces_;
  std::size_t longest_token_ = 0;
};

}  // namespace tickertape::kernels::fake
