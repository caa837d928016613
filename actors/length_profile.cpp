// LengthProfile: how long answers turn out, learned online per class of request.
#include "actors/length_profile.hpp"

#include <algorithm>
#include <bit>

#include <tickertape/assert.hpp>

namespace tickertape::actors {
namespace {

/// Fewer ends do not make a class that can be relied on.
constexpr std::uint32_t kMinEnded = 32;

}  // namespace

LengthProfile::LengthProfile(std::size_t max_classes) : max_classes_(max_classes) {
  TICKERTAPE_ASSERT(max_classes > 0 && max_classes < kNone);
}

LengthProfile::LengthProfile(const SharedLengths& shared) : LengthProfile() {
  shared_ = shared;
}

std::size_t LengthProfile::Hash::operator()(const Key& key) const noexcept {
  std::uint64_t x = key.client ^ std::uint64_t{key.kind} << 56;
  x = (x ^ (x >> 32)) * 0x9e3779b97f4a7c15;
  return x ^ (x >> 29);
}

LengthProfile::Key LengthProfile::key_of(const SequenceView& view) noexcept {
  const auto octave = static_cast<std::uint32_t>(std::bit_width(view.prompt_tokens));
  return {view.client,
          octave + (view.is_chat ? static_cast<std::uint32_t>(SharedLengths::kOctaves) : 0)};
}

void LengthProfile::reached(const SequenceView& view) {
  const LengthBucket bucket = LengthBucket::of(view.num_generated());
  if (bucket.inside != 0) return;
  const Key key = key_of(view);
  touch(key).enter(bucket.index);
  shared_.kinds[key.kind].enter(bucket.index);
  shared_.all.enter(bucket.index);
}

void LengthProfile::ended(const SequenceView& view) {
  const std::size_t bucket = LengthBucket::of(view.num_generated()).index;
  const Key key = key_of(view);
  touch(key).end(bucket);
  shared_.kinds[key.kind].end(bucket);
  shared_.all.end(bucket);
}

LengthCounts& LengthProfile::touch(const Key& key) {
  const auto found = index_.find(key);
  const std::uint32_t index = found != index_.end() ? found->second : place_for(key);
  if (index != newest_) {
    unlink(index);
    link_newest(index);
  }
  return classes_[index].counts;
}

/// A new class, or the least recently used one made new.
std::uint32_t LengthProfile::place_for(const Key& key) {
  std::uint32_t index = oldest_;
  if (classes_.size() < max_classes_) {
    index = static_cast<std::uint32_t>(classes_.size());
    classes_.emplace_back();
    link_newest(index);
  } else {
    index_.erase(classes_[index].key);
    classes_[index].counts = LengthCounts();
  }
  classes_[index].key = key;
  index_.emplace(key, index);
  return index;
}

void LengthProfile::unlink(std::uint32_t index) {
  const Class& entry = classes_[index];
  (entry.newer == kNone ? newest_ : classes_[entry.newer].older) = entry.older;
  (entry.older == kNone ? oldest_ : classes_[entry.older].newer) = entry.newer;
}

void LengthProfile::link_newest(std::uint32_t index) {
  classes_[index].newer = kNone;
  classes_[index].older = newest_;
  (newest_ == kNone ? oldest_ : classes_[newest_].newer) = index;
  newest_ = index;
}

bool LengthProfile::is_known() const noexcept {
  return shared_.all.num_ended() >= kMinEnded;
}

const LengthCounts& LengthProfile::counts_for(const SequenceView& view) const {
  const Key key = key_of(view);
  if (const auto found = index_.find(key); found != index_.end()) {
    const LengthCounts& counts = classes_[found->second].counts;
    if (counts.num_ended() >= kMinEnded) return counts;
  }
  const LengthCounts& kind = shared_.kinds[key.kind];
  return kind.num_ended() >= kMinEnded ? kind : shared_.all;
}

void LengthProfile::survival(const SequenceView& sequence, std::span<const std::uint32_t> further,
                             std::span<std::uint32_t> out) const {
  TICKERTAPE_ASSERT(out.size() == further.size());
  const LengthCounts& counts = counts_for(sequence);
  // It runs: so it will have one more token than it has.
  const std::uint64_t next = std::uint64_t{sequence.num_generated()} + 1;
  const std::uint32_t base = counts.decay(next);
  const std::uint32_t left =
      sequence.max_tokens - std::min(sequence.num_tokens, sequence.max_tokens);
  for (std::size_t i = 0; i < further.size(); ++i) {
    const std::uint32_t probability = probability_of(counts.decay(next + further[i]) - base);
    out[i] = further[i] < left ? probability : 0;
  }
}

std::uint32_t LengthProfile::quantile(const SequenceView& sequence, std::uint32_t quantile) const {
  TICKERTAPE_ASSERT(quantile <= kCertain);
  const std::uint32_t most =
      sequence.max_tokens - std::min(sequence.prompt_tokens, sequence.max_tokens);
  const LengthCounts& counts = counts_for(sequence);
  const std::uint32_t generated = sequence.num_generated();
  const std::uint64_t next = std::uint64_t{generated} + 1;
  const std::uint32_t base = counts.decay(next);
  std::uint32_t below = generated;  // The answer lies in [below, above].
  std::uint32_t above = std::max(most, generated);
  while (below < above) {
    const std::uint32_t middle = below + (above - below) / 2;
    const std::uint32_t exceeds = probability_of(counts.decay(std::uint64_t{middle} + 1) - base);
    if (exceeds <= kCertain - quantile) {
      above = middle;
    } else {
      below = middle + 1;
    }
  }
  return std::min(below, most);
}

}  // namespace tickertape::actors
