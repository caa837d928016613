// Vocabulary: the tokens of a model, their bytes and their kinds.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <tickertape/tokenizer.hpp>

namespace tickertape::kernels::text {

/// What a token is for; the ids are those of GGUF's tokenizer.ggml.token_type.
enum class TokenKind : std::uint8_t {
  normal = 1,
  unknown = 2,
  control = 3,       ///< Turn markers and the like.
  user_defined = 4,  ///< A fixed string that text is never cut inside of.
  unused = 5,
  byte = 6
};

/// Ids are dense and given in the order of adding. Immutable once built.
class Vocabulary {
 public:
  void add(std::string_view bytes, TokenKind kind) {
    bytes_ += bytes;
    ends_.push_back(bytes_.size());
    kinds_.push_back(kind);
    if (bytes.size() > longest_) longest_ = bytes.size();
  }

  [[nodiscard]] std::size_t size() const noexcept { return kinds_.size(); }
  [[nodiscard]] std::size_t longest_token() const noexcept { return longest_; }

  /// REQUIRES for both: 0 <= id < size().
  [[nodiscard]] std::string_view bytes(TokenId id) const noexcept {
    const auto at = static_cast<std::size_t>(id);
    const std::size_t begin = at == 0 ? 0 : ends_[at - 1];
    return std::string_view(bytes_).substr(begin, ends_[at] - begin);
  }
  [[nodiscard]] TokenKind kind(TokenId id) const noexcept {
    return kinds_[static_cast<std::size_t>(id)];
  }
  /// Tokens that generated text never shows.
  [[nodiscard]] bool is_control(TokenId id) const noexcept {
    const TokenKind kind = this->kind(id);
    return kind == TokenKind::control || kind == TokenKind::unknown || kind == TokenKind::unused;
  }

 private:
  std::string bytes_;
  std::vector<std::size_t> ends_;
  std::vector<TokenKind> kinds_;
  std::size_t longest_ = 0;
};

}  // namespace tickertape::kernels::text
