// Scheduling policies: who is admitted, who is preempted, who comes first.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include <tickertape/kv_pool.hpp>

namespace tickertape {

/// What policies see of a sequence. Plain numbers, so that a decision can be recorded and replayed.
struct SequenceView {
  SequenceId id = 0;
  std::uint64_t arrival = 0;  ///< 0, 1, 2, ... in order of submission; kept when preempted.
  std::int64_t arrival_ns = 0;
  std::int32_t priority = 0;  ///< Smaller is first.
  std::uint64_t client = 0;   ///< Who asks; 0 = not said.
  bool is_chat = false;       ///< Given as messages, not as a prompt.
  std::uint32_t prompt_tokens = 0;
  std::uint32_t num_tokens = 0;    ///< Known tokens: prompt and generated.
  std::uint32_t num_computed = 0;  ///< Those whose K and V are in pages.
  std::uint32_t max_tokens = 0;    ///< Most tokens that it may come to have in all.
  std::uint32_t pages = 0;         ///< Pages that it holds.
  /// Its first pages that others hold too; of a candidate, those that it would share.
  std::uint32_t shareable = 0;
  bool parked = false;  ///< Out of credit.
  std::int64_t parked_since_ns = 0;
  std::int64_t deadline_ns = 0;  ///< INT64_MAX = none.
  std::uint32_t preemptions = 0;

  [[nodiscard]] std::uint32_t num_generated() const noexcept { return num_tokens - prompt_tokens; }
};

struct PoolView {
  std::uint32_t num_pages = 0;
  std::uint32_t num_free = 0;  ///< Free pages, and cached ones that may be taken.
  std::uint32_t page_size = 16;
  std::uint32_t max_model_len = 0;
  std::uint32_t num_shared =
      0;  ///< Pages that several running sequences hold: in each `shareable`.
};

/// How long answers turn out to be, as learned from those that ended.
class LengthForecast {
 public:
  virtual ~LengthForecast() = default;

  static constexpr std::uint32_t kCertain = 1U << 16;  ///< Probability 1.

  /// out[i] = the probability, in parts of kCertain, that `sequence` comes to have more than
  /// num_tokens + further[i] tokens. `further` rises; nothing exceeds max_tokens.
  virtual void survival(const SequenceView& sequence, std::span<const std::uint32_t> further,
                        std::span<std::uint32_t> out) const = 0;
};

/// What an admission is decided from.
struct AdmissionInput {
  const SequenceView& candidate;
  std::span<const SequenceView> running;  ///< Those with pages, oldest first.
  const PoolView& pool;
  const LengthForecast& forecast;
  std::int64_t now_ns = 0;
};

/// Whether a waiting sequence may start now. Called in the order of the line until it says no.
/// Pure: the answer depends on the arguments only.
class AdmissionPolicy {
 public:
  virtual ~AdmissionPolicy() = default;
  /// All of the candidate's known tokens get pages if admitted; `shareable` of them others hold,
  /// the rest must be free: that is checked beside this.
  [[nodiscard]] virtual bool admit(const AdmissionInput& input) const = 0;
  /// Tokens that it is given pages for when it is admitted: at least its num_tokens.
  [[nodiscard]] virtual std::uint32_t tokens_at_start(const SequenceView& candidate,
                                                      const PoolView& /*pool*/) const {
    return candidate.num_tokens;
  }
};

/// Which running sequence gives up its pages when a sequence that must grow finds none.
class PreemptionPolicy {
 public:
  virtual ~PreemptionPolicy() = default;
  /// An index into `running`, or none when all must keep theirs. `grower` is the index of the one
  /// that needs pages; it may be the answer. `oldest` (never the answer unless alone) is the oldest
  /// runnable one of the highest class; running.size() if there is none.
  [[nodiscard]] virtual std::optional<std::size_t> choose(std::span<const SequenceView> running,
                                                          std::size_t grower, std::size_t oldest,
                                                          std::int64_t park_grace_ns,
                                                          std::int64_t now_ns) const = 0;
};

/// The order of the waiting line.
class OrderPolicy {
 public:
  virtual ~OrderPolicy() = default;
  /// Its place: smaller first, equal ones by arrival. Asked when it enters the line, so it must not
  /// change with time: ageing is a rank that grows with the arrival.
  [[nodiscard]] virtual std::int64_t rank(const SequenceView& sequence) const = 0;
  /// Its class: a waiting sequence preempts running ones of a higher number. The same for all: no
  /// class preempts another.
  [[nodiscard]] virtual std::int32_t preemption_class(const SequenceView& /*sequence*/) const {
    return 0;
  }
  /// Clients take turns by the tokens that they were served (rank then orders within a client), and
  /// the first of the line takes the place of a client's that has more of them.
  [[nodiscard]] virtual bool shares_by_client() const { return false; }
  /// Sequences that cannot meet their deadline any more, or while others wait probably will not,
  /// are ended before work is wasted on them.
  [[nodiscard]] virtual bool sheds_hopeless() const { return false; }
};

}  // namespace tickertape
