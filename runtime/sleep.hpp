// SleepOp: awaiting a point in time.
#pragma once
#include <coroutine>

#include "runtime/scheduler.hpp"
#include "runtime/stop.hpp"

namespace tickertape::runtime {

/// What sleep_until returns. Safe to destroy while suspended.
class [[nodiscard]] SleepOp : Timer, StopNode {
 public:
  SleepOp(Scheduler& scheduler, Nanoseconds when, StopSource* stop) noexcept
      : scheduler_(scheduler), when_(when), stop_(stop) {}
  SleepOp(const SleepOp&) = delete;
  SleepOp& operator=(const SleepOp&) = delete;
  ~SleepOp() { scheduler_.disarm(this); }

  bool await_ready() noexcept {
    stopped_ = stop_ != nullptr && stop_->stopped();
    return stopped_;
  }

  void await_suspend(std::coroutine_handle<> waiter) {
    waiter_ = waiter;
    Timer::fire = [](Timer* timer) {
      auto* op = static_cast<SleepOp*>(timer);
      op->StopNode::unlink();
      op->waiter_.resume();
    };
    // The stopped sleeper runs from its timer as well, not inside request_stop().
    StopNode::stop = [](StopNode* node) {
      auto* op = static_cast<SleepOp*>(node);
      op->stopped_ = true;
      op->scheduler_.arm(op, op->scheduler_.now());
    };
    if (stop_ != nullptr) stop_->add(*this);
    scheduler_.arm(this, when_);
  }

  /// False if the stop came first.
  [[nodiscard]] bool await_resume() const noexcept { return !stopped_; }

 private:
  Scheduler& scheduler_;
  Nanoseconds when_;
  StopSource* stop_;
  bool stopped_ = false;
  std::coroutine_handle<> waiter_;
};

/// `co_await sleep_until(...)` is true at `when` (also when that has passed, after one turn of the
/// scheduler), false as soon as `stop` is requested. kNever waits for the stop alone.
inline SleepOp sleep_until(Scheduler& scheduler, Nanoseconds when, StopSource* stop = nullptr) {
  return SleepOp(scheduler, when, stop);
}

/// sleep_until, counted from now.
inline SleepOp sleep_for(Scheduler& scheduler, Nanoseconds duration, StopSource* stop = nullptr) {
  return SleepOp(scheduler, scheduler.now() + duration, stop);
}

}  // namespace tickertape::runtime
