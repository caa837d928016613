// LaneThread: a thread with a scheduler of its own, which runs one task to its end.
#pragma once
#include <memory>

#include "runtime/scheduler.hpp"
#include "runtime/task.hpp"

namespace tickertape::runtime {

/// Thread rules: built, started, joined and destroyed by its owner; the task and everything that it
/// posts run on the thread.
class LaneThread {
 public:
  /// `nice`: the thread's priority (0 to 19).
  explicit LaneThread(int nice);
  LaneThread(const LaneThread&) = delete;
  LaneThread& operator=(const LaneThread&) = delete;
  /// REQUIRES: joined, or never started.
  ~LaneThread();

  [[nodiscard]] Scheduler& scheduler() noexcept;

  /// Starts the thread with `main` on it; once.
  void start(Task<> main);

  /// Waits until `main` has ended. What it threw is lost: a task here ends without exceptions.
  void join();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tickertape::runtime
