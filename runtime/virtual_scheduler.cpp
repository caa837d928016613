// VirtualScheduler: a scheduler whose clock is virtual and whose order is that of posting.
#include "runtime/virtual_scheduler.hpp"

#include <algorithm>
#include <utility>

namespace tickertape::runtime {

void VirtualScheduler::post(Work* work) {
  work->next = nullptr;
  (last_ == nullptr ? first_ : last_->next) = work;
  last_ = work;
}

bool VirtualScheduler::cancel(Work* work) {
  Work* before = nullptr;
  for (Work* at = first_; at != nullptr; before = std::exchange(at, at->next)) {
    if (at != work) continue;
    (before == nullptr ? first_ : before->next) = work->next;
    if (last_ == work) last_ = before;
    return true;
  }
  return false;
}

bool VirtualScheduler::step() {
  if (first_ != nullptr) {
    Work* work = std::exchange(first_, first_->next);
    if (first_ == nullptr) last_ = nullptr;
    work->run(work);
    return true;
  }
  if (timers_.empty()) return false;
  Timer& timer = timers_.first();
  now_ = std::max(now_, timer.when);
  timers_.disarm(&timer);
  timer.fire(&timer);
  return true;
}

}  // namespace tickertape::runtime
