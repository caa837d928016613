// LanePort: the engine's lane as submitters and readers see it.
#pragma once
#include <memory>
#include <mutex>
#include <variant>
#include <vector>

#include "actors/counters.hpp"
#include "actors/plan.hpp"
#include "actors/sequence.hpp"
#include "runtime/mailbox.hpp"

namespace tickertape::actors {

/// A request on its way into the waiting line.
struct Submission {
  Submission(NewRequest what, std::vector<std::shared_ptr<Sequence>> whose)
      : planned(what), choices(std::move(whose)) {}
  NewRequest planned;
  std::vector<std::shared_ptr<Sequence>> choices;  ///< By index.
};

using AllocatorMessage = std::variant<Submission, Demand>;
using AllocatorInbox = runtime::Mailbox<AllocatorMessage>;

/// Outlives the lane: a stream may be read, cancelled or dropped long after its engine.
///
/// Thread rules: any thread, except open(), close() and take_dirty(): the lane.
class LanePort {
 public:
  /// What credit and cancellation changed since the last plan goes into one list, not into a
  /// mailbox: a flood of credits cannot fill anything.
  void mark_dirty(std::shared_ptr<Stream> stream);
  [[nodiscard]] runtime::PushResult submit(Submission submission);
  /// True once no lane will ever take anything from here.
  [[nodiscard]] bool closed() const;

  void open(AllocatorInbox& inbox);
  void close();
  /// Moves the list out, oldest first.
  void take_dirty(std::vector<std::shared_ptr<Stream>>& out);

  [[nodiscard]] Counters& counters() noexcept { return counters_; }

 private:
  mutable std::mutex mutex_;
  AllocatorInbox* inbox_ = nullptr;
  bool closed_ = false;
  std::vector<std::shared_ptr<Stream>> dirty_;
  Counters counters_;
};

}  // namespace tickertape::actors
