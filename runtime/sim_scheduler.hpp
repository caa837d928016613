// SimScheduler: a scheduler whose clock is virtual and whose order is drawn from a seed.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <ostream>
#include <thread>
#include <vector>

#include "runtime/scheduler.hpp"
#include "runtime/timer_heap.hpp"

namespace tickertape::runtime {

/// Runs the same actors as a real scheduler, one step at a time: a step runs one of the ready
/// works, drawn at random, or fires a timer that is due. Only when nothing is ready does the clock
/// jump, to the next timer. The same seed and the same actors give the same steps with every
/// compiler.
///
/// Thread rules: everything on the thread that constructed it; another one's post is a bug.
class SimScheduler final : public Scheduler {
 public:
  explicit SimScheduler(std::uint64_t seed);
  ~SimScheduler() override;

  void post(Work* work) override;
  bool cancel(Work* work) override;
  [[nodiscard]] Nanoseconds now() const override { return now_; }
  void arm(Timer* timer, Nanoseconds when) override { timers_.arm(timer, when); }
  void disarm(Timer* timer) override { timers_.disarm(timer); }
  void trace(std::uint32_t event, std::uint64_t a, std::uint64_t b) override;

  /// From now on `per_1024` of 1,024 posted works become ready only after a random delay of up to
  /// `max_delay_ns`, as on a slow executor. Random order alone does not find every race.
  void delay_posts(unsigned per_1024, Nanoseconds max_delay_ns);

  /// For actors and test worlds; drawn from the same generator as the order.
  [[nodiscard]] std::uint64_t random() noexcept;
  /// In [0, n). REQUIRES: n > 0.
  [[nodiscard]] std::uint64_t random(std::uint64_t n) noexcept { return (random() >> 11) % n; }

  /// False when nothing is ready and no timer is armed.
  bool step();
  /// True: it ran dry. False: `max_steps` were not enough (a livelock, or a world that never ends).
  bool run(std::uint64_t max_steps);

  /// A hash over all steps and traces so far; equal for equal schedules.
  [[nodiscard]] std::uint64_t digest() const noexcept { return digest_; }
  [[nodiscard]] std::uint64_t steps() const noexcept { return steps_; }

  /// Writes one line per event to `out` (null: none), fields separated by blanks:
  ///
  ///     step now_ns W tag        a work ran
  ///     step now_ns D tag        a delayed work became ready (after its timer's line)
  ///     step now_ns T seq        a timer fired (seq counts the arms)
  ///     step now_ns X event a b  trace(event, a, b), in decimal
  void set_trace(std::ostream* out) noexcept { out_ = out; }

 private:
  struct Delayed;

  /// Folds an event into the digest and writes its line.
  void note(char kind, std::uint64_t a);
  void mix(std::uint64_t value) noexcept;
  void run_ready(std::size_t place);
  void fire_first();

  const std::thread::id thread_ = std::this_thread::get_id();
  std::uint64_t state_;
  std::uint64_t digest_ = 0;
  std::uint64_t steps_ = 0;
  Nanoseconds now_ = 0;
  unsigned delay_per_1024_ = 0;
  Nanoseconds max_delay_ns_ = 0;
  std::vector<Work*> ready_;
  std::vector<std::unique_ptr<Delayed>> delayed_;
  TimerHeap timers_;
  std::ostream* out_ = nullptr;
};

}  // namespace tickertape::runtime
