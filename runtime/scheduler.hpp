// Scheduler: the one source of order, time and randomness that actors see.
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>

namespace tickertape::runtime {

/// A point in time or a duration of the scheduler's clock.
using Nanoseconds = std::int64_t;
/// A deadline that never comes.
inline constexpr Nanoseconds kNever = std::numeric_limits<Nanoseconds>::max();

/// Something to run, linked into the scheduler's queue without an allocation. Whoever owns it keeps
/// it alive until it has run or was cancelled. `run` must not throw.
struct Work {
  void (*run)(Work*) = nullptr;
  Work* next = nullptr;   ///< Belongs to the queue while posted.
  std::uint32_t tag = 0;  ///< Names the work in traces and digests.
};

/// A call at a point in time. It does not move or die while armed.
struct Timer {
  static constexpr std::size_t kUnarmed = std::numeric_limits<std::size_t>::max();

  Nanoseconds when = 0;
  std::uint64_t seq = 0;         ///< Order among equal times: first armed, first fired.
  std::size_t index = kUnarmed;  ///< Place in the heap of timers.
  void (*fire)(Timer*) = nullptr;

  [[nodiscard]] bool armed() const noexcept { return index != kUnarmed; }
};

/// Runs Works and Timers one at a time on its own thread. Lives longer than all mailboxes, scopes,
/// events and coroutines that refer to it.
///
/// Thread rules: post() from any thread; the rest on the scheduler's own thread, or on the thread
/// that tears things down once the own thread has ended.
class Scheduler {
 public:
  Scheduler() = default;
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;
  virtual ~Scheduler() = default;

  /// Queues `work`; never runs it inside this call. REQUIRES: it is not queued already (its own
  /// run() may post it again).
  virtual void post(Work* work) = 0;

  /// Takes a posted work out of the queue, so that its owner may die. Linear in the queue's length.
  /// False if it was not queued.
  virtual bool cancel(Work* work) = 0;

  [[nodiscard]] virtual Nanoseconds now() const = 0;

  /// Fires `timer` once, at `when` or soon after and never inside this call. An armed timer is
  /// moved to the new time; kNever disarms it.
  virtual void arm(Timer* timer, Nanoseconds when) = 0;

  /// Does nothing for a timer that is not armed.
  virtual void disarm(Timer* timer) = 0;

  /// A remark for the simulation's digest and trace. Nothing elsewhere.
  virtual void trace(std::uint32_t event, std::uint64_t a, std::uint64_t b) {
    static_cast<void>(event);
    static_cast<void>(a);
    static_cast<void>(b);
  }
};

}  // namespace tickertape::runtime
