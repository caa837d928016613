// LaneHost: the engine's lane as a backend sees it.
#pragma once
#include <atomic>
#include <cstdint>
#include <list>

#include <tickertape/backend.hpp>

#include "runtime/mailbox.hpp"
#include "runtime/scheduler.hpp"

namespace tickertape::actors {

using Completions = runtime::Mailbox<Ticket>;

/// Thread rules: as BackendHost says. Outlives the backend.
class LaneHost final : public BackendHost {
 public:
  explicit LaneHost(runtime::Scheduler& scheduler);
  ~LaneHost() override;

  [[nodiscard]] std::int64_t now() const override { return scheduler_.now(); }
  void post(Ticket ticket) override;
  void post_at(Ticket ticket, std::int64_t when_ns) override;
  void beat() noexcept override { last_beat_ns_.store(now(), std::memory_order_relaxed); }
  [[nodiscard]] bool stop_requested() const noexcept override {
    return stop_.load(std::memory_order_relaxed);
  }

  void request_stop() noexcept { stop_.store(true); }
  [[nodiscard]] Completions& completions() noexcept { return completions_; }
  [[nodiscard]] runtime::Scheduler& scheduler() noexcept { return scheduler_; }

  /// Work is under way from now on, or none is: health is judged only while it is.
  void set_busy(bool busy) noexcept {
    beat();
    busy_.store(busy, std::memory_order_relaxed);
  }
  /// Idle, or a sign of life within `limit_ns`. Any thread.
  [[nodiscard]] bool alive(std::int64_t limit_ns) const noexcept;

 private:
  struct Delayed : runtime::Timer {
    LaneHost* host = nullptr;
    Ticket ticket = 0;
    std::list<Delayed>::iterator place;
  };

  runtime::Scheduler& scheduler_;
  Completions completions_;
  std::list<Delayed> delayed_;
  std::atomic<std::int64_t> last_beat_ns_{0};
  std::atomic<bool> busy_{false};
  std::atomic<bool> stop_{false};
};

}  // namespace tickertape::actors
