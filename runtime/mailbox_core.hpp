// MailboxCore: the part of a mailbox that is the same for every message: who waits and who wakes.
#pragma once
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "runtime/scheduler.hpp"
#include "runtime/stop.hpp"

namespace tickertape::runtime {

enum class ReceiveStatus : std::uint8_t { message, woken, closed, stopped, timeout };

/// The wake-up is a Work of the mailbox itself, posted at most once at a time; when it runs it
/// resumes whoever waits then, if anybody. So a coroutine that waits may be destroyed at any time
/// on the scheduler's thread, and producers never touch its frame.
class MailboxCore {
 public:
  MailboxCore(Scheduler& scheduler, std::uint32_t tag) noexcept;
  MailboxCore(const MailboxCore&) = delete;
  MailboxCore& operator=(const MailboxCore&) = delete;

  /// Refuses later messages; those in the queue are still delivered. Any thread.
  void close();

  /// Makes the pending receive, or else the next one, return `woken` unless a message is there.
  /// Sticky until it was reported; several wakes are one. Any thread.
  void wake();

  /// Messages in the queue. Any thread.
  [[nodiscard]] std::size_t size() const;
  /// The most messages that were ever in the queue. Any thread.
  [[nodiscard]] std::size_t high_water() const;
  [[nodiscard]] bool closed() const;

 protected:
  class Waiter;
  ~MailboxCore();

  /// Posts the wake-up if somebody waits and none is under way. Unlocks.
  void notify(std::unique_lock<std::mutex>& lock);

  mutable std::mutex mutex_;
  // All under mutex_.
  std::size_t count_ = 0;
  std::size_t high_water_ = 0;
  bool closed_ = false;

 private:
  struct WakeUp : Work {
    MailboxCore* core = nullptr;
  };

  [[nodiscard]] bool available() const noexcept { return count_ != 0 || woken_ || closed_; }
  static void run_wake_up(Work* work);

  Scheduler& scheduler_;
  WakeUp wake_up_;
  // All under mutex_.
  bool woken_ = false;
  bool posted_ = false;
  Waiter* waiter_ = nullptr;
};

/// The state of one receive; the awaitables of Mailbox derive from it.
class MailboxCore::Waiter : Timer, StopNode {
 public:
  Waiter(MailboxCore& core, StopSource* stop, Nanoseconds deadline) noexcept
      : core_(core), stop_(stop), deadline_(deadline) {}
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;

  bool await_ready();
  bool await_suspend(std::coroutine_handle<> waiter);

 protected:
  ~Waiter() {
    if (suspended_) detach();
  }

  /// How the receive ended when no message is there. REQUIRES: the mailbox's mutex is held.
  [[nodiscard]] ReceiveStatus status_without_message() noexcept;

 private:
  friend class MailboxCore;

  /// Leaves the mailbox, the timer and the stop source.
  void detach() noexcept;
  void resume();

  MailboxCore& core_;
  StopSource* stop_;
  Nanoseconds deadline_;
  ReceiveStatus reason_ = ReceiveStatus::timeout;
  bool suspended_ = false;
  std::coroutine_handle<> waiter_;
};

}  // namespace tickertape::runtime
