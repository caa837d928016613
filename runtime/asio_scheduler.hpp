// AsioScheduler: a scheduler on an io_context that one thread runs.
#pragma once
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <memory>

#include "runtime/scheduler.hpp"
#include "runtime/timer_heap.hpp"

namespace tickertape::runtime {

/// A burst of posts costs one asio::post: only the post that finds nothing under way makes one. All
/// timers share one steady_timer. An io_context with nothing to do sleeps; it does not run out of
/// work while a timer is armed.
///
/// Thread rules: as Scheduler; the own thread is the one that runs the io_context. Destroyed before
/// the io_context, on that thread or after it has ended; handlers that are still queued then do
/// nothing.
class AsioScheduler final : public Scheduler {
 public:
  explicit AsioScheduler(boost::asio::io_context& context);
  ~AsioScheduler() override;

  void post(Work* work) override;
  bool cancel(Work* work) override;
  /// The steady clock.
  [[nodiscard]] Nanoseconds now() const override;
  void arm(Timer* timer, Nanoseconds when) override;
  void disarm(Timer* timer) override;

 private:
  /// What queued handlers hold: empty once the scheduler is gone.
  struct Life {
    AsioScheduler* scheduler;
  };

  void post_turn();
  void turn() noexcept;
  void take_incoming() noexcept;
  Work* pop_ready() noexcept;
  void fire_due() noexcept;
  void set_alarm();

  boost::asio::io_context& context_;
  std::shared_ptr<Life> life_;

  /// Null: no turn is queued. Else a list of posted works, youngest first, that ends in end_mark_.
  std::atomic<Work*> incoming_{nullptr};
  Work end_mark_;

  // Only the own thread touches the rest.
  Work* ready_first_ = nullptr;
  Work* ready_last_ = nullptr;
  bool in_turn_ = false;
  TimerHeap timers_;
  boost::asio::steady_timer alarm_;
  Nanoseconds alarm_when_ = kNever;
};

}  // namespace tickertape::runtime
