// Event: something that is set or not, and coroutines that wait until it is.
#pragma once
#include <coroutine>

#include "runtime/intrusive_list.hpp"
#include "runtime/scheduler.hpp"
#include "runtime/stop.hpp"

namespace tickertape::runtime {

/// Any number of coroutines of one scheduler may wait.
///
/// Thread rules: the scheduler's own thread.
class Event {
 public:
  class WaitOp;

  explicit Event(Scheduler& scheduler, std::uint32_t tag = 0) noexcept
      : scheduler_(scheduler), tag_(tag) {}
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  [[nodiscard]] bool is_set() const noexcept { return set_; }
  void reset() noexcept { set_ = false; }

  /// Lets everybody go who waits now, whatever happens to the event before they run.
  inline void set();

  /// `co_await wait(...)` is true once the event is set, false if the stop came first.
  [[nodiscard]] inline WaitOp wait(StopSource* stop = nullptr);

 private:
  Scheduler& scheduler_;
  std::uint32_t tag_;
  bool set_ = false;
  IntrusiveList<WaitOp> waiters_;
};

/// What Event::wait returns. Safe to destroy while suspended.
class [[nodiscard]] Event::WaitOp : Work, StopNode, public ListNode<WaitOp> {
 public:
  WaitOp(Event& event, StopSource* stop) noexcept
      : event_(event), scheduler_(event.scheduler_), stop_(stop) {}
  WaitOp(const WaitOp&) = delete;
  WaitOp& operator=(const WaitOp&) = delete;
  ~WaitOp() {
    if (posted_) scheduler_.cancel(this);
  }

  bool await_ready() noexcept {
    result_ = event_.set_;
    return result_ || (stop_ != nullptr && stop_->stopped());
  }

  void await_suspend(std::coroutine_handle<> waiter) {
    waiter_ = waiter;
    Work::tag = event_.tag_;
    Work::run = [](Work* work) {
      auto* op = static_cast<WaitOp*>(work);
      op->posted_ = false;
      op->waiter_.resume();
    };
    StopNode::stop = [](StopNode* node) { static_cast<WaitOp*>(node)->finish(false); };
    if (stop_ != nullptr) stop_->add(*this);
    event_.waiters_.push_back(*this);
  }

  [[nodiscard]] bool await_resume() const noexcept { return result_; }

 private:
  friend class Event;

  void finish(bool result) {
    result_ = result;
    StopNode::unlink();
    ListNode<WaitOp>::unlink();
    posted_ = true;
    scheduler_.post(this);
  }

  Event& event_;
  Scheduler& scheduler_;
  StopSource* stop_;
  bool result_ = false;
  bool posted_ = false;
  std::coroutine_handle<> waiter_;
};

inline void Event::set() {
  set_ = true;
  while (!waiters_.empty()) waiters_.front().finish(true);
}

inline Event::WaitOp Event::wait(StopSource* stop) {
  return WaitOp(*this, stop);
}

}  // namespace tickertape::runtime
