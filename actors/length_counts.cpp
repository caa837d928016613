// LengthCounts: how far the answers of one class came, and the survival that follows from it.
#include "actors/length_counts.hpp"

#include <algorithm>

#include <tickertape/assert.hpp>

namespace tickertape::actors {
namespace {

/// decay_ is renewed after one change in so many, so that a crossed border costs nanoseconds.
constexpr std::uint32_t kRenewal = 64;
constexpr std::uint32_t kMostSeen = kRenewal * kRenewal;

/// The binary logarithm of 1 + i / 256, times 2^16.
constexpr auto kLogarithms = [] {
  std::array<std::uint32_t, 257> logarithms{};
  for (std::size_t i = 0; i < 256; ++i) {
    std::uint64_t x = (1ULL << 31) + (static_cast<std::uint64_t>(i) << 23);
    for (int bit = 15; bit >= 0; --bit) {
      x = x * x >> 31;
      if (x < 1ULL << 32) continue;
      x /= 2;
      logarithms[i] |= 1U << bit;
    }
  }
  logarithms[256] = 1U << 16;
  return logarithms;
}();

/// The binary logarithm of den / num, times 2^16. REQUIRES: 0 < num <= den < 2^31.
std::uint32_t logarithm(std::uint64_t num, std::uint64_t den) noexcept {
  const std::uint64_t ratio = (den << 32) / num;  // From 1 (2^32) up.
  const auto whole = static_cast<unsigned>(std::bit_width(ratio)) - 33;
  const std::uint64_t fraction = (ratio >> whole) - (1ULL << 32);
  const std::size_t index = fraction >> 24;
  const std::uint64_t rest = fraction & 0xffffff;
  const std::uint64_t rise = kLogarithms[index + 1] - kLogarithms[index];
  return (whole << 16) + kLogarithms[index] + static_cast<std::uint32_t>(rise * rest >> 24);
}

}  // namespace

LengthCounts::LengthCounts(std::span<const Bucket> buckets, std::uint32_t num_ended)
    : num_used_(std::min(buckets.size(), LengthBucket::kCount)), num_ended_(num_ended) {
  for (std::size_t i = 0; i < num_used_; ++i) {
    Bucket& bucket = buckets_[i];
    bucket.entered = std::min(buckets[i].entered, kMostEntered);
    bucket.ended = std::min(buckets[i].ended, kMost);
    bucket.passed = std::min(buckets[i].passed, kMost - bucket.ended);
    num_seen_ = std::min(num_seen_ + bucket.entered + bucket.ended, kMostSeen);
  }
  refresh();
}

void LengthCounts::halve_if_many(Bucket& bucket) noexcept {
  if (bucket.ended + bucket.passed <= kMost && bucket.entered <= kMostEntered) return;
  bucket.entered /= 2;
  bucket.ended /= 2;
  bucket.passed /= 2;
}

void LengthCounts::enter(std::size_t bucket) {
  if (bucket > 0) {
    ++buckets_[bucket - 1].passed;
    halve_if_many(buckets_[bucket - 1]);
  }
  ++buckets_.at(bucket).entered;
  halve_if_many(buckets_[bucket]);
  num_used_ = std::max(num_used_, bucket + 1);
  changed();
}

void LengthCounts::end(std::size_t bucket) {
  ++buckets_.at(bucket).ended;
  halve_if_many(buckets_[bucket]);
  num_used_ = std::max(num_used_, bucket + 1);
  if (num_ended_ < UINT32_MAX) ++num_ended_;
  changed();
}

void LengthCounts::changed() {
  num_seen_ = std::min(num_seen_ + 1, kMostSeen);
  if (++num_changes_ * kRenewal < num_seen_) return;
  num_changes_ = 0;
  refresh();
}

void LengthCounts::refresh() {
  for (std::size_t i = 0; i < num_used_; ++i) {
    const Bucket& bucket = buckets_[i];
    const std::uint64_t left = bucket.ended + bucket.passed;
    // Twice those at risk. Halving may leave fewer that came than will leave. One more, so that
    // nothing is impossible.
    const std::uint64_t at_risk = left + std::max<std::uint64_t>(bucket.entered, left) + 1;
    decay_[i + 1] = decay_[i] + logarithm(at_risk - 2 * std::uint64_t{bucket.ended}, at_risk);
  }
  std::fill(decay_.begin() + static_cast<std::ptrdiff_t>(num_used_), decay_.end(),
            decay_[num_used_]);
}

}  // namespace tickertape::actors
