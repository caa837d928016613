// WorkerThread: one thread that runs jobs in their order; started by the first of them.
#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace tickertape::runtime {

/// Thread rules: post() on any thread; destroyed by its owner when nobody posts any more.
class WorkerThread {
 public:
  /// `nice`: the thread's priority (0 to 19).
  explicit WorkerThread(int nice) : nice_(nice) {}
  WorkerThread(const WorkerThread&) = delete;
  WorkerThread& operator=(const WorkerThread&) = delete;
  /// Runs what was posted, then ends.
  ~WorkerThread();

  /// `job` must not throw.
  void post(std::function<void()> job);

 private:
  void run();

  const int nice_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace tickertape::runtime
