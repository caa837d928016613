// WorkerThread: one thread that runs jobs in their order; started by the first of them.
#include "runtime/worker_thread.hpp"

#include <utility>

#include "runtime/compute_pool.hpp"

namespace tickertape::runtime {

WorkerThread::~WorkerThread() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void WorkerThread::post(std::function<void()> job) {
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
    if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  }
  changed_.notify_one();
}

void WorkerThread::run() {
  set_thread_nice(nice_);
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
    if (jobs_.empty()) return;
    std::function<void()> job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    job();
    job = nullptr;  // Its captures may be the last references to something.
    lock.lock();
  }
}

}  // namespace tickertape::runtime
