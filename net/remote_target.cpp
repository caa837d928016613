// RemoteTarget: at most one post is outstanding; the run that it causes sees all that came before.
#include "net/remote_target.hpp"

#include <utility>

namespace tickertape::net {

RemoteTarget::RemoteTarget(const boost::asio::any_io_executor& executor)
    : poster_(runtime::make_asio_poster(executor)) {
  runtime::Work::run = [](runtime::Work* work) { static_cast<RemoteTarget*>(work)->run_once(); };
}

RemoteTarget::~RemoteTarget() {
  poster_->set_shutdown_listener(nullptr);
}

void RemoteTarget::schedule() {
  {
    const std::lock_guard lock(mutex_);
    if (dead_) return;
    if (posted_) {
      again_ = true;
      return;
    }
    posted_ = true;
    self_ = shared_from_this();
  }
  // Without the lock: a poster that finds its context gone may tell us so from in here.
  if (!poster_->post(this)) context_shutdown();
}

void RemoteTarget::run_once() {
  std::shared_ptr<RemoteTarget> self;
  {
    const std::lock_guard lock(mutex_);
    self = std::move(self_);
    again_ = false;
  }
  // Also when a handler throws: the exception leaves through the executor's run().
  struct End {
    RemoteTarget& target;
    bool failed = true;
    ~End() { target.end_run(failed); }
  } end{*this};
  run();
  end.failed = false;
}

void RemoteTarget::end_run(bool again) noexcept {
  {
    const std::lock_guard lock(mutex_);
    posted_ = false;
    if (!again && !again_) return;
  }
  schedule();
}

void RemoteTarget::context_shutdown() noexcept {
  // A target that is being destroyed has nobody left to tell.
  const std::shared_ptr<RemoteTarget> alive = weak_from_this().lock();
  std::shared_ptr<RemoteTarget> posted;
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(dead_, true)) return;
    posted = std::move(self_);
  }
  if (alive) abandoned();
}

}  // namespace tickertape::net
