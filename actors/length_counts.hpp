// LengthCounts: how far the answers of one class came, and the survival that follows from it.
#pragma once
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace tickertape::actors {

/// Lengths in buckets of a quarter of an octave: 0, 1, 2, 3, 4, 5, 6, 7, 8-9, 10-11, ... The width
/// of each is a power of two.
struct LengthBucket {
  static constexpr std::size_t kCount = 124;  ///< Up to 2^32 - 1.

  static constexpr std::size_t of(std::uint32_t length) noexcept {
    if (length < 4) return length;
    const auto octave = static_cast<unsigned>(std::bit_width(length)) - 1;
    return (octave - 1) * 4 + (length >> (octave - 2) & 3);
  }
  static constexpr unsigned width_bits(std::size_t bucket) noexcept {
    return bucket < 4 ? 0 : static_cast<unsigned>(bucket / 4 - 1);
  }
  /// The shortest length in it; of kCount, 2^32.
  static constexpr std::uint64_t first(std::size_t bucket) noexcept {
    return bucket < 4 ? bucket : (4 + std::uint64_t{bucket % 4}) << width_bits(bucket);
  }
  static constexpr bool is_first(std::uint32_t length) noexcept {
    return length < 4 || (length & ((1ULL << width_bits(of(length))) - 1)) == 0;
  }
};

/// Counts per bucket: who came to its first length, who ended in it, who came beyond it.
///
/// An answer that came into a bucket and neither ended in it nor beyond it counts as half there
/// (the actuary's estimate): it still runs, or something else ended it.
class LengthCounts {
 public:
  /// When more have left a bucket, its counts are halved.
  static constexpr std::uint32_t kMost = 256;

  /// An answer has come to the first length of `bucket`. Bucket 0: it starts.
  void enter(std::size_t bucket);
  void end(std::size_t bucket);

  /// Ends seen so far, not halved.
  [[nodiscard]] std::uint32_t num_ended() const noexcept { return num_ended_; }

  /// How unlikely it is to have at least `length` tokens: minus the binary logarithm of the
  /// probability, times 2^16. Between the borders of a bucket it rises evenly.
  [[nodiscard]] std::uint32_t decay(std::uint64_t length) const noexcept {
    if (length >= 1ULL << 32) return decay_.back();
    const std::size_t bucket = LengthBucket::of(static_cast<std::uint32_t>(length));
    const std::uint64_t rise = decay_[bucket + 1] - decay_[bucket];
    const std::uint64_t inside = length - LengthBucket::first(bucket);
    return decay_[bucket] +
           static_cast<std::uint32_t>(rise * inside >> LengthBucket::width_bits(bucket));
  }

 private:
  struct Bucket {
    std::uint32_t entered = 0;
    std::uint32_t ended = 0;
    std::uint32_t passed = 0;
  };

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

/// 2^(-decay / 2^16), in parts of 2^16.
[[nodiscard]] std::uint32_t probability_of(std::uint32_t decay) noexcept;

}  // namespace tickertape::actors
