// Scheduling policies: who is admitted, who is preempted, who comes first.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include <tickertape/kv_pool.hpp>

namespace tickertape {

/// What policies see of a sequence. Plain numbers, so that a decision can be recorded and replayed.
struct SequenceView {
  SequenceId id = 0;
  std::uint64_t arrival = 0;  ///< 0, 1, 2, ... in order of submission; kept when preempted.
  std::int32_t priority = 0;  ///< Smaller is first.
  std::uint64_t client = 0;   ///< Who asks; 0 = not said.
  std::uint32_t prompt_tokens = 0;
  std::uint32_t num_tokens = 0;    ///< Known tokens: prompt and generated.
  std::uint32_t num_computed = 0;  ///< Those whose K and V are in pages.
  std::uint32_t max_tokens = 0;    ///< Most tokens that it may come to have in all.
  std::uint32_t pages = 0;         ///< Pages that it holds.
  std::uint32_t shareable = 0;     ///< Of a candidate: pages that a sibling has for it already.
  bool parked = false;             ///< Out of credit.
  std::int64_t parked_since_ns = 0;
  std::int64_t deadline_ns = 0;  ///< INT64_MAX = none.
  std::uint32_t preemptions = 0;
};

struct PoolView {
  std::uint32_t num_pages = 0;
  std::uint32_t num_free = 0;
  std::uint32_t page_size = 16;
};

/// Whether a waiting sequence may start now. Called in the order of OrderPolicy until it says no.
/// Pure: the answer depends on the arguments only.
class AdmissionPolicy {
 public:
  virtual ~AdmissionPolicy() = default;
  /// `running` are those with pages. All of the candidate's known tokens get pages if admitted;
  /// `shareable` of them are taken from a sibling, the others must be free.
  [[nodiscard]] virtual bool admit(const SequenceView& candidate,
                                   std::span<const SequenceView> running, const PoolView& pool,
                                   std::int64_t now_ns) const = 0;
};

/// Which running sequence gives up its pages when a sequence that must grow finds none.
class PreemptionPolicy {
 public:
  virtual ~PreemptionPolicy() = default;
  /// An index into `running`, or none when all must keep theirs. `grower` is the index of the one
  /// that needs pages; it may be the answer. `oldest` (never the answer unless alone) is the oldest
  /// runnable one; running.size() if there is none.
  [[nodiscard]] virtual std::optional<std::size_t> choose(std::span<const SequenceView> running,
                                                          std::size_t grower, std::size_t oldest,
                                                          std::int64_t park_grace_ns,
                                                          std::int64_t now_ns) const = 0;
};

/// The order of the waiting line.
class OrderPolicy {
 public:
  virtual ~OrderPolicy() = default;
  /// True when `a` comes before `b`: a strict weak order for a fixed `now_ns`.
  [[nodiscard]] virtual bool before(const SequenceView& a, const SequenceView& b,
                                    std::int64_t now_ns) const = 0;
};

}  // namespace tickertape
