// Mailbox: a bounded queue of messages that one actor reads and any thread writes.
#pragma once
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include <tickertape/assert.hpp>

#include "runtime/mailbox_core.hpp"

namespace tickertape::runtime {

enum class PushResult : std::uint8_t { ok, full, closed };

/// What Mailbox::receive gives: `message` is there exactly when the status says so.
template <class T>
struct Received {
  Received(ReceiveStatus how, std::optional<T> what) noexcept
      : status(how), message(std::move(what)) {}
  [[nodiscard]] explicit operator bool() const noexcept { return status == ReceiveStatus::message; }

  ReceiveStatus status;
  std::optional<T> message;
};

/// A push only wakes; the message stays in the ring until the reader takes it. So no message is
/// lost to a stop, a deadline or the end of the coroutine that waits, and a queued message goes
/// before wake, close, stop and deadline. One receive may be pending at a time.
///
/// Thread rules: push, close, wake and the counters on any thread; receive, try_receive and the
/// destructor on the scheduler's own thread. The mailbox outlives every push and every coroutine
/// that receives from it; the scheduler outlives the mailbox.
template <class T>
class Mailbox : public MailboxCore {
  static_assert(std::is_nothrow_move_constructible_v<T>, "a message must not be lost by a throw");

 public:
  class ReceiveOp;
  class ReceiveBatchOp;

  /// `tag` names the mailbox's wake-ups in traces. All memory is taken here. REQUIRES: capacity >
  /// 0.
  Mailbox(Scheduler& scheduler, std::size_t capacity, std::uint32_t tag)
      : MailboxCore(scheduler, tag), ring_(capacity) {
    TICKERTAPE_ASSERT(capacity > 0);
  }

  /// Never blocks on the reader and never drops silently: `full` and `closed` are for the sender to
  /// handle.
  [[nodiscard]] PushResult push(T message) {
    std::unique_lock lock(mutex_);
    if (closed_) return PushResult::closed;
    if (count_ == ring_.size()) return PushResult::full;
    std::size_t place = first_ + count_;
    if (place >= ring_.size()) place -= ring_.size();
    ring_[place].emplace(std::move(message));
    ++count_;
    if (count_ > high_water_) high_water_ = count_;
    notify(lock);
    return PushResult::ok;
  }

  /// `co_await receive(...)` is a Received<T>: one message, or why there is none.
  [[nodiscard]] ReceiveOp receive(StopSource* stop = nullptr, Nanoseconds deadline = kNever) {
    return ReceiveOp(*this, stop, deadline);
  }

  /// `co_await receive_batch(out, ...)` is a ReceiveStatus; all queued messages are appended to
  /// out.
  [[nodiscard]] ReceiveBatchOp receive_batch(std::vector<T>& out, StopSource* stop = nullptr,
                                             Nanoseconds deadline = kNever) {
    return ReceiveBatchOp(*this, out, stop, deadline);
  }

  [[nodiscard]] std::optional<T> try_receive() {
    const std::lock_guard lock(mutex_);
    if (count_ == 0) return std::nullopt;
    return pop();
  }

 private:
  /// REQUIRES: mutex_ is held and count_ > 0.
  std::optional<T> pop() noexcept {
    std::optional<T> message = std::move(ring_[first_]);
    ring_[first_].reset();
    if (++first_ == ring_.size()) first_ = 0;
    --count_;
    return message;
  }

  std::vector<std::optional<T>> ring_;
  std::size_t first_ = 0;
};

template <class T>
class [[nodiscard]] Mailbox<T>::ReceiveOp : public MailboxCore::Waiter {
 public:
  ReceiveOp(Mailbox& mailbox, StopSource* stop, Nanoseconds deadline) noexcept
      : Waiter(mailbox, stop, deadline), mailbox_(mailbox) {}

  Received<T> await_resume() {
    const std::lock_guard lock(mailbox_.mutex_);
    if (mailbox_.count_ != 0) return Received<T>(ReceiveStatus::message, mailbox_.pop());
    return Received<T>(this->status_without_message(), std::nullopt);
  }

 private:
  Mailbox& mailbox_;
};

template <class T>
class [[nodiscard]] Mailbox<T>::ReceiveBatchOp : public MailboxCore::Waiter {
 public:
  ReceiveBatchOp(Mailbox& mailbox, std::vector<T>& out, StopSource* stop,
                 Nanoseconds deadline) noexcept
      : Waiter(mailbox, stop, deadline), mailbox_(mailbox), out_(out) {}

  ReceiveStatus await_resume() {
    const std::lock_guard lock(mailbox_.mutex_);
    if (mailbox_.count_ == 0) return this->status_without_message();
    out_.reserve(out_.size() + mailbox_.count_);
    while (mailbox_.count_ != 0) out_.push_back(*mailbox_.pop());
    return ReceiveStatus::message;
  }

 private:
  Mailbox& mailbox_;
  std::vector<T>& out_;
};

}  // namespace tickertape::runtime
