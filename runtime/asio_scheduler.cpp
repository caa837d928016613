// AsioScheduler: turns of works and the alarm of the earliest timer.
#include "runtime/asio_scheduler.hpp"

#include <boost/asio/post.hpp>
#include <chrono>
#include <utility>

namespace tickertape::runtime {
namespace {

/// Works per turn, so that the context's other handlers are served in between.
constexpr int kWorksPerTurn = 256;

}  // namespace

AsioScheduler::AsioScheduler(boost::asio::io_context& context)
    : context_(context), life_(std::make_shared<Life>(Life{this})), alarm_(context) {}

AsioScheduler::~AsioScheduler() = default;

Nanoseconds AsioScheduler::now() const {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

void AsioScheduler::post(Work* work) {
  Work* first = incoming_.load(std::memory_order_relaxed);
  do {
    work->next = first == nullptr ? &end_mark_ : first;
  } while (!incoming_.compare_exchange_weak(first, work, std::memory_order_release,
                                            std::memory_order_relaxed));
  if (first == nullptr) post_turn();
}

void AsioScheduler::post_turn() {
  boost::asio::post(context_, [life = std::weak_ptr<Life>(life_)] {
    if (const auto alive = life.lock()) alive->scheduler->turn();
  });
}

void AsioScheduler::turn() noexcept {
  in_turn_ = true;
  int budget = kWorksPerTurn;
  while (budget > 0) {
    if (ready_first_ == nullptr) take_incoming();
    if (ready_first_ == nullptr) break;
    Work* work = pop_ready();
    work->run(work);
    --budget;
  }
  fire_due();
  in_turn_ = false;
  set_alarm();
  Work* idle = &end_mark_;
  if (ready_first_ == nullptr &&
      incoming_.compare_exchange_strong(idle, nullptr, std::memory_order_relaxed)) {
    return;
  }
  post_turn();
}

/// Moves everything posted so far behind the ready works, oldest first. A turn is queued or
/// running.
void AsioScheduler::take_incoming() noexcept {
  Work* youngest = incoming_.exchange(&end_mark_, std::memory_order_acquire);
  Work* oldest = nullptr;
  Work* rest = youngest;
  while (rest != &end_mark_) {
    Work* older = rest->next;
    rest->next = oldest;
    oldest = rest;
    rest = older;
  }
  if (oldest == nullptr) return;
  (ready_first_ == nullptr ? ready_first_ : ready_last_->next) = oldest;
  ready_last_ = youngest;
}

Work* AsioScheduler::pop_ready() noexcept {
  Work* work = ready_first_;
  ready_first_ = std::exchange(work->next, nullptr);
  return work;
}

bool AsioScheduler::cancel(Work* work) {
  if (incoming_.load(std::memory_order_relaxed) == nullptr) return false;
  take_incoming();
  Work* before = nullptr;
  for (Work* candidate = ready_first_; candidate != nullptr; candidate = candidate->next) {
    if (candidate == work) {
      (before == nullptr ? ready_first_ : before->next) = work->next;
      if (ready_last_ == work) ready_last_ = before;
      work->next = nullptr;
      return true;
    }
    before = candidate;
  }
  return false;
}

void AsioScheduler::arm(Timer* timer, Nanoseconds when) {
  timers_.arm(timer, when);
  if (!in_turn_) set_alarm();
}

void AsioScheduler::disarm(Timer* timer) {
  timers_.disarm(timer);
  if (!in_turn_) set_alarm();
}

/// Fires what is due now, but nothing that is armed meanwhile: a timer that arms itself for now
/// must not keep the context.
void AsioScheduler::fire_due() noexcept {
  if (timers_.empty()) return;
  const Nanoseconds now_ns = now();
  const std::uint64_t end_seq = timers_.next_seq();
  while (timers_.first_when() <= now_ns && timers_.first().seq < end_seq) {
    Timer& timer = timers_.first();
    timers_.disarm(&timer);
    timer.fire(&timer);
  }
}

/// The alarm may be earlier than needed (it then finds nothing due), but never later. With no timer
/// left it is cancelled, so that it does not keep the context from running out of work.
void AsioScheduler::set_alarm() {
  const Nanoseconds wanted = timers_.first_when();
  if (wanted == kNever) {
    if (std::exchange(alarm_when_, kNever) != kNever) alarm_.cancel();
    return;
  }
  if (alarm_when_ <= wanted) return;
  alarm_when_ = wanted;
  alarm_.expires_at(std::chrono::steady_clock::time_point(std::chrono::nanoseconds(wanted)));
  alarm_.async_wait([life = std::weak_ptr<Life>(life_)](const boost::system::error_code& error) {
    const auto alive = error ? nullptr : life.lock();
    if (alive == nullptr) return;
    AsioScheduler& self = *alive->scheduler;
    self.alarm_when_ = kNever;
    self.in_turn_ = true;
    self.fire_due();
    self.in_turn_ = false;
    self.set_alarm();
  });
}

}  // namespace tickertape::runtime
