// TokenHistory: a sequence's tokens, and how often each of them occurs.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include <tickertape/tokenizer.hpp>

namespace tickertape::kernels::sampling {

/// Kept up token by token: what a token costs does not grow with the history. Not thread-safe.
class TokenHistory {
 public:
  struct Count {
    TokenId token = 0;
    std::uint32_t in_prompt = 0;
    std::uint32_t generated = 0;
  };

  TokenHistory() = default;
  /// The first `prompt_length` tokens are the prompt. Without `with_counts` counts() stays empty.
  TokenHistory(std::span<const TokenId> tokens, std::uint32_t prompt_length, bool with_counts);

  [[nodiscard]] std::size_t size() const noexcept { return tokens_.size(); }
  [[nodiscard]] std::span<const TokenId> tokens() const noexcept { return tokens_; }
  /// One entry per token that occurred, in no particular order; both counts may have gone back to
  /// 0.
  [[nodiscard]] std::span<const Count> counts() const noexcept { return counts_; }

  void push(TokenId token);
  /// Forgets the tokens from `size` on. REQUIRES: size <= size().
  void truncate(std::size_t size);

 private:
  [[nodiscard]] std::uint32_t& counter(TokenId token, std::size_t position);

  std::vector<TokenId> tokens_;
  std::uint32_t prompt_length_ = 0;
  bool with_counts_ = false;
  std::vector<Count> counts_;
  std::unordered_map<TokenId, std::size_t> index_;  ///< Token to its place in counts_.
};

}  // namespace tickertape::kernels::sampling
