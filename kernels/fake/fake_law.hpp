// FakeLaw: which token follows a history, by hash.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include <tickertape/fake.hpp>

namespace tickertape::kernels::fake {

/// A hash of a history of tokens, one token at a time.
class HistoryHash {
 public:
  void push(TokenId id) noexcept { value_ = mix(value_ + static_cast<std::uint32_t>(id)); }
  [[nodiscard]] std::uint64_t value() const noexcept { return value_; }

  /// A bijection of 64-bit words in which every input bit reaches every output bit.
  [[nodiscard]] static constexpr std::uint64_t mix(std::uint64_t word) noexcept {
    word += 0x9E3779B97F4A7C15ULL;
    word = (word ^ (word >> 32)) * 0xD6E8FEB86659FD93ULL;
    word = (word ^ (word >> 29)) * 0xCA5A826395121157ULL;
    return word ^ (word >> 32);
  }

  friend bool operator==(const HistoryHash&, const HistoryHash&) = default;

 private:
  std::uint64_t value_ = 0x7469636B65727461ULL;
};

/// Everything that a sampled token depends on besides its history.
struct FakeDraw {
  double temperature = 1;
  std::uint64_t seed = 0;
  std::uint32_t choice = 0;
  std::uint64_t position = 0;  ///< Of the last token of the history.
};

/// What a sampled token may be.
struct FakeBounds {
  std::span<const std::uint64_t> mask;  ///< As in Batch::masks, or empty.
  std::span<const TokenId> suppressed;  ///< Impossible ones.
};

struct FakeSample {
  TokenId token = 0;  ///< -1 with bad numbers, or when the bounds leave none.
  bool bad_numbers = false;
};

/// The law of one set of options. Stateless; any thread.
class FakeLaw {
 public:
  explicit FakeLaw(const PagedFakeOptions& options)
      : vocab_size_(options.vocab_size),
        end_probability_(options.end_probability),
        nan_probability_(options.nan_probability) {}

  static constexpr TokenId kEndToken = 0;

  /// The law's token, or the next possible one, wrapping around.
  [[nodiscard]] FakeSample sample(HistoryHash history, const FakeDraw& draw,
                                  const FakeBounds& bounds = {}) const noexcept;

  /// A row of logits whose most likely token is `token`, the next ids less and less so, for a
  /// LogitProcessor to change.
  [[nodiscard]] std::vector<float> logits(TokenId token, const FakeBounds& bounds) const;

  /// The most likely token; the k-th next ids, wrapping around, are the k-th most likely ones.
  [[nodiscard]] TokenId best(HistoryHash history) const noexcept;
  [[nodiscard]] float logprob(HistoryHash history, TokenId token) const noexcept;

 private:
  [[nodiscard]] TokenId token_of(std::uint64_t word) const noexcept;

  std::uint32_t vocab_size_;
  double end_probability_;
  double nan_probability_;
};

}  // namespace tickertape::kernels::fake
