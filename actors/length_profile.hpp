// LengthProfile: how long answers turn out, learned online per class of request.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <unordered_map>

#include <tickertape/policy.hpp>

#include "actors/length_counts.hpp"

namespace tickertape::actors {

/// The part of a profile that is about no client: what is worth keeping beyond an engine's life.
struct SharedLengths {
  /// Of a prompt's length: 0 for none, else its bits.
  static constexpr std::size_t kOctaves = 33;

  LengthCounts all;
  /// By octave; those of chats behind those of completions.
  std::array<LengthCounts, 2 * kOctaves> kinds;
};

/// The survival of answers over their length, after Kaplan and Meier (1958): per bucket of lengths
/// (a quarter of an octave), how many answers came into it and how many ended in it. Answers that
/// still run, or that were ended by something else than themselves, count as far as they came, so
/// that a profile learned while long answers still run is not biased to short ones. Counts are
/// halved when they are many: the profile follows the traffic.
///
/// Classes are (client, chat or completion, octave of the prompt's length); a class with too few
/// ends leans on (chat or completion, octave), then on all. Where nobody has been yet, an answer is
/// taken to go on to its max_tokens.
///
/// A plain value in integer arithmetic. Bounded: the least recently used classes are forgotten.
/// Const members may be called by any number of threads at the same time.
class LengthProfile final : public LengthForecast {
 public:
  /// `max_classes`: classes of clients beyond which the least recently used one is forgotten; each
  /// takes about 2 KiB. REQUIRES: > 0.
  explicit LengthProfile(std::size_t max_classes = 4096);
  /// One that begins with what another one learned.
  explicit LengthProfile(const SharedLengths& shared);

  /// Tells that `view` has come to have its present number of generated tokens (called for each
  /// token, cheap unless a bucket's border is crossed; 0 = it starts).
  void reached(const SequenceView& view);
  /// It ended by itself with so many generated tokens: end token, stop string.
  void ended(const SequenceView& view);

  void survival(const SequenceView& sequence, std::span<const std::uint32_t> further,
                std::span<std::uint32_t> out) const override;

  /// The smallest number of generated tokens that `sequence` exceeds with probability at most
  /// 1 - quantile (in parts of kCertain), given what it has; at most max_tokens - prompt_tokens.
  [[nodiscard]] std::uint32_t quantile(const SequenceView& sequence, std::uint32_t quantile) const;

  [[nodiscard]] const SharedLengths& shared() const noexcept { return shared_; }
  /// Enough answers have ended for a forecast; before, all are taken to go on to max_tokens.
  [[nodiscard]] bool is_known() const noexcept;

  [[nodiscard]] std::size_t num_classes() const noexcept { return classes_.size(); }

 private:
  struct Key {
    std::uint64_t client = 0;
    std::uint32_t kind = 0;  ///< An index into SharedLengths::kinds.
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const noexcept;
  };
  static constexpr std::uint32_t kNone = UINT32_MAX;
  struct Class {
    Key key;
    std::uint32_t newer = kNone;  ///< In the order of use; an index into classes_.
    std::uint32_t older = kNone;
    LengthCounts counts;
  };

  static Key key_of(const SequenceView& view) noexcept;
  /// The client's class, now the most recently used; made when it is not there.
  LengthCounts& touch(const Key& key);
  [[nodiscard]] std::uint32_t place_for(const Key& key);
  void unlink(std::uint32_t index);
  void link_newest(std::uint32_t index);
  /// The finest class that has seen enough ends.
  [[nodiscard]] const LengthCounts& counts_for(const SequenceView& view) const;

  std::size_t max_classes_;
  std::deque<Class> classes_;
  std::uint32_t newest_ = kNone;
  std::uint32_t oldest_ = kNone;
  std::unordered_map<Key, std::uint32_t, Hash> index_;
  SharedLengths shared_;
};

}  // namespace tickertape::actors
