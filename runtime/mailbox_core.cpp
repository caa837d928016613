// MailboxCore: waiting, waking and giving up.
#include "runtime/mailbox_core.hpp"

#include <utility>

#include <tickertape/assert.hpp>

namespace tickertape::runtime {

MailboxCore::MailboxCore(Scheduler& scheduler, std::uint32_t tag) noexcept : scheduler_(scheduler) {
  wake_up_.run = &MailboxCore::run_wake_up;
  wake_up_.tag = tag;
  wake_up_.core = this;
}

MailboxCore::~MailboxCore() {
  TICKERTAPE_ASSERT(waiter_ == nullptr);
  if (posted_) scheduler_.cancel(&wake_up_);
}

void MailboxCore::close() {
  std::unique_lock lock(mutex_);
  closed_ = true;
  notify(lock);
}

void MailboxCore::wake() {
  std::unique_lock lock(mutex_);
  woken_ = true;
  notify(lock);
}

std::size_t MailboxCore::size() const {
  const std::lock_guard lock(mutex_);
  return count_;
}

std::size_t MailboxCore::high_water() const {
  const std::lock_guard lock(mutex_);
  return high_water_;
}

bool MailboxCore::closed() const {
  const std::lock_guard lock(mutex_);
  return closed_;
}

void MailboxCore::notify(std::unique_lock<std::mutex>& lock) {
  if (waiter_ == nullptr || posted_) return lock.unlock();
  posted_ = true;
  lock.unlock();
  scheduler_.post(&wake_up_);
}

void MailboxCore::run_wake_up(Work* work) {
  MailboxCore& core = *static_cast<WakeUp*>(work)->core;
  Waiter* waiter = nullptr;
  {
    const std::lock_guard lock(core.mutex_);
    core.posted_ = false;
    // The receive that this wake-up was posted for may have given up, and a later one may wait now.
    if (core.available()) waiter = core.waiter_;
  }
  if (waiter != nullptr) waiter->resume();
}

bool MailboxCore::Waiter::await_ready() {
  {
    const std::lock_guard lock(core_.mutex_);
    if (core_.available()) return true;
  }
  if (stop_ != nullptr && stop_->stopped()) {
    reason_ = ReceiveStatus::stopped;
    return true;
  }
  return deadline_ != kNever && deadline_ <= core_.scheduler_.now();
}

bool MailboxCore::Waiter::await_suspend(std::coroutine_handle<> waiter) {
  waiter_ = waiter;
  {
    const std::lock_guard lock(core_.mutex_);
    if (core_.available()) return false;
    TICKERTAPE_ASSERT(core_.waiter_ == nullptr);
    core_.waiter_ = this;
  }
  // The wake-up runs on this thread, so nothing can resume us before the following is done.
  suspended_ = true;
  Timer::fire = [](Timer* timer) { static_cast<Waiter*>(timer)->resume(); };
  StopNode::stop = [](StopNode* node) {
    auto* self = static_cast<Waiter*>(node);
    self->reason_ = ReceiveStatus::stopped;
    self->core_.scheduler_.arm(self, self->core_.scheduler_.now());
  };
  if (stop_ != nullptr) stop_->add(*this);
  if (deadline_ != kNever) core_.scheduler_.arm(this, deadline_);
  return true;
}

ReceiveStatus MailboxCore::Waiter::status_without_message() noexcept {
  if (std::exchange(core_.woken_, false)) return ReceiveStatus::woken;
  return core_.closed_ ? ReceiveStatus::closed : reason_;
}

void MailboxCore::Waiter::detach() noexcept {
  suspended_ = false;
  StopNode::unlink();
  core_.scheduler_.disarm(this);
  const std::lock_guard lock(core_.mutex_);
  core_.waiter_ = nullptr;
}

void MailboxCore::Waiter::resume() {
  detach();
  waiter_.resume();
}

}  // namespace tickertape::runtime
