// LanePort: the engine's lane as submitters and readers see it.
#include "actors/lane_port.hpp"

#include "actors/stream.hpp"

namespace tickertape::actors {

void LanePort::mark_dirty(std::shared_ptr<Stream> stream) {
  const std::lock_guard lock(mutex_);
  if (closed_) return;
  const bool was_empty = dirty_.empty();
  dirty_.push_back(std::move(stream));
  if (was_empty && inbox_ != nullptr) inbox_->wake();
}

runtime::PushResult LanePort::submit(Submission submission) {
  const std::lock_guard lock(mutex_);
  if (closed_ || inbox_ == nullptr) return runtime::PushResult::closed;
  return inbox_->push(AllocatorMessage(std::move(submission)));
}

bool LanePort::closed() const {
  const std::lock_guard lock(mutex_);
  return closed_;
}

void LanePort::open(AllocatorInbox& inbox) {
  const std::lock_guard lock(mutex_);
  inbox_ = &inbox;
}

void LanePort::close() {
  std::vector<std::shared_ptr<Stream>> dropped;
  const std::lock_guard lock(mutex_);
  closed_ = true;
  inbox_ = nullptr;
  dropped.swap(dirty_);
}

void LanePort::take_dirty(std::vector<std::shared_ptr<Stream>>& out) {
  out.clear();
  const std::lock_guard lock(mutex_);
  out.swap(dirty_);
}

}  // namespace tickertape::actors
