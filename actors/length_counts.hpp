// LengthCounts: how far the answers of one class came, and the survival that follows from it.
#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tickertape::actors {

/// Lengths in buckets of a quarter of an octave, counted from -4 so that the first are single: 0,
/// 1, 2, 3, 4-5, 6-7, 8-9, 10-11, 12-15, ... The width of each is a power of two.
struct LengthBucket {
  static constexpr std::size_t kCount = 120;
  static constexpr std::uint64_t kMostLength = (1ULL << 32) - 5;  ///< More counts as so many.

  std::size_t index = 0;
  unsigned width_bits = 0;
  std::uint32_t inside = 0;  ///< The length less the first of the bucket.

  static constexpr LengthBucket of(std::uint64_t length) noexcept {
    const auto shifted = static_cast<std::uint32_t>(std::min(length, kMostLength)) + 4;
    const unsigned bits = 29U - static_cast<unsigned>(std::countl_zero(shifted));
    const std::uint32_t quarter = shifted >> bits;  // 4 to 7.
    return {std::size_t{bits * 4 + quarter - 4}, bits, shifted - (quarter << bits)};
  }
  /// The shortest length in a bucket; of kCount, the one after the longest.
  static constexpr std::uint64_t first(std::size_t index) noexcept {
    return ((4 + std::uint64_t{index % 4}) << (index / 4)) - 4;
  }
};

/// Counts per bucket: who came to its first length, who ended in it, who came beyond it.
///
/// An answer that came into a bucket and neither ended in it nor beyond it counts as half there
/// (the actuary's estimate): it still runs, or something else ended it.
class LengthCounts {
 public:
  /// When more have left a bucket, or come into it, its counts are halved.
  static constexpr std::uint32_t kMost = 256;
  static constexpr std::uint32_t kMostEntered = 1U << 20;

  struct Bucket {
    std::uint32_t entered = 0;
    std::uint32_t ended = 0;
    std::uint32_t passed = 0;
  };

  LengthCounts() = default;
  /// What buckets() and num_ended() told. Larger counts than any that they tell are taken for the
  /// largest.
  LengthCounts(std::span<const Bucket> buckets, std::uint32_t num_ended);

  /// An answer has come to the first length of `bucket`. Bucket 0: it starts.
  void enter(std::size_t bucket);
  void end(std::size_t bucket);

  /// Ends seen so far, not halved.
  [[nodiscard]] std::uint32_t num_ended() const noexcept { return num_ended_; }
  /// Up to the last one that anybody came to.
  [[nodiscard]] std::span<const Bucket> buckets() const noexcept {
    return std::span(buckets_).first(num_used_);
  }

  /// How unlikely it is to have at least `length` tokens: minus the binary logarithm of the
  /// probability, times 2^16. Between the borders of a bucket it rises evenly.
  [[nodiscard]] std::uint32_t decay(std::uint64_t length) const noexcept {
    const LengthBucket bucket = LengthBucket::of(length);
    const std::uint32_t first = decay_[bucket.index];
    const std::uint64_t rise = decay_[bucket.index + 1] - first;
    return first + static_cast<std::uint32_t>(rise * bucket.inside >> bucket.width_bits);
  }

 private:
  void changed();
  void refresh();
  static void halve_if_many(Bucket& bucket) noexcept;

  std::array<Bucket, LengthBucket::kCount> buckets_{};
  std::array<std::uint32_t, LengthBucket::kCount + 1> decay_{};  ///< At the first length of each.
  std::size_t num_used_ = 0;                                     ///< Buckets beyond are empty.
  std::uint32_t num_ended_ = 0;
  std::uint32_t num_seen_ = 0;     ///< Changes so far, counted up to kMostSeen.
  std::uint32_t num_changes_ = 0;  ///< Those of them that are not in decay_ yet.
};

/// 2^(-i / 1024) in parts of 2^16: roots of a half, multiplied.
inline constexpr auto kPowersOfHalf = [] {
  std::array<std::uint64_t, 10> factors{};  // 2^(-1/2), 2^(-1/4), ... in parts of 2^31.
  std::uint64_t factor = 1ULL << 30;
  for (std::uint64_t& next : factors) {
    const std::uint64_t square = factor << 31;
    factor = 0;
    for (int bit = 31; bit >= 0; --bit) {
      const std::uint64_t larger = factor | 1ULL << bit;
      if (larger * larger <= square) factor = larger;
    }
    next = factor;
  }
  std::array<std::uint32_t, 1024> powers{};
  for (std::size_t i = 0; i < powers.size(); ++i) {
    std::uint64_t power = 1ULL << 31;
    for (std::size_t bit = 0; bit < factors.size(); ++bit) {
      if ((i >> (9 - bit) & 1) != 0) power = power * factors[bit] >> 31;
    }
    powers[i] = static_cast<std::uint32_t>((power + (1U << 14)) >> 15);
  }
  return powers;
}();

/// 2^(-decay / 2^16), in parts of 2^16. Without a branch: which of thousands are improbable cannot
/// be foreseen.
[[nodiscard]] constexpr std::uint32_t probability_of(std::uint32_t decay) noexcept {
  return kPowersOfHalf[decay >> 6 & 1023] >> std::min(decay >> 16, 31U);
}

}  // namespace tickertape::actors
