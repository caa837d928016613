// Scope: a nursery; it owns the tasks spawned in it and waits for all of them.
#pragma once
#include <cstddef>
#include <exception>
#include <functional>

#include "runtime/event.hpp"
#include "runtime/intrusive_list.hpp"
#include "runtime/scheduler.hpp"
#include "runtime/stop.hpp"
#include "runtime/task.hpp"

namespace tickertape::runtime {

/// Every task has an owner: it is awaited or spawned in a scope. `co_await join()` before the end
/// of a scope; destroying it earlier destroys the frames of the children that have not ended, the
/// youngest first (an engine's teardown, and tests that abandon).
///
/// Thread rules: the scheduler's own thread.
class Scope {
 public:
  /// Told of a child's end, with its exception or null. A child that has one does not fail the
  /// scope.
  using Down = std::function<void(std::exception_ptr)>;

  explicit Scope(Scheduler& scheduler, std::uint32_t tag = 0);
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
  ~Scope();

  /// Starts `task` from the scheduler's queue. Without `down`, its exception stops the siblings and
  /// is rethrown by join(). What `down` throws counts as such an exception.
  void spawn(Task<> task, Down down = {});

  /// For the children's waits; requested by the first failure, or by the owner.
  [[nodiscard]] StopSource& stop() noexcept { return stop_; }

  /// Ends when no child is left; rethrows the first failure, once.
  [[nodiscard]] Task<> join();

  /// Children that have not ended.
  [[nodiscard]] std::size_t size() const noexcept { return num_children_; }

 private:
  struct Child;

  static void finished(void* context);
  void fail(std::exception_ptr error);

  Scheduler& scheduler_;
  std::uint32_t tag_;
  StopSource stop_;
  Event idle_;
  std::size_t num_children_ = 0;
  std::exception_ptr failure_;
  IntrusiveList<Child> children_;
};

}  // namespace tickertape::runtime
