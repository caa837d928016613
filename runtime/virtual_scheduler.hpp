// VirtualScheduler: a scheduler whose clock is virtual and whose order is that of posting.
#pragma once
#include "runtime/scheduler.hpp"
#include "runtime/timer_heap.hpp"

namespace tickertape::runtime {

/// Runs actors as fast as they go: posted works first, in their order; when none is left the clock
/// jumps to the next timer. SimScheduler searches for the orders that hurt; this one is for
/// experiments whose time is simulated.
///
/// Thread rules: everything on one thread.
class VirtualScheduler final : public Scheduler {
 public:
  void post(Work* work) override;
  bool cancel(Work* work) override;
  [[nodiscard]] Nanoseconds now() const override { return now_; }
  void arm(Timer* timer, Nanoseconds when) override { timers_.arm(timer, when); }
  void disarm(Timer* timer) override { timers_.disarm(timer); }

  /// Runs one work or fires one timer; false when there is neither.
  bool step();

 private:
  Nanoseconds now_ = 0;
  Work* first_ = nullptr;
  Work* last_ = nullptr;
  TimerHeap timers_;
};

}  // namespace tickertape::runtime
