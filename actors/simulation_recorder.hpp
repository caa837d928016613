// SimulationRecorder: a backend that notes what passes through it.
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <utility>
#include <vector>

#include <tickertape/backend.hpp>
#include <tickertape/simulation.hpp>

#include "actors/plan.hpp"

namespace tickertape::actors {

/// Stands between the stepper and a backend. Passes may overlap: a record begins when the pass
/// could begin, and is complete when its result is taken.
class SimulationRecorder final : public Backend {
 public:
  using Sink = std::function<void(const TickRecord&, std::vector<TickRow>&)>;

  SimulationRecorder(Backend& backend, const BackendHost& host, Sink sink)
      : backend_(backend), host_(host), sink_(std::move(sink)) {}

  /// Before the plan's pass is submitted: the rows' requests, and the gauges of that moment.
  void expect(std::vector<TickRow> rows) { expected_.push_back(std::move(rows)); }
  std::function<void(TickRecord&)> fill_gauges;

  [[nodiscard]] const BackendInfo& info() const noexcept override { return backend_.info(); }
  void forward(Ticket ticket, const Batch& batch) override;
  void copy_pages(Ticket ticket, std::span<const PageMove> moves) override {
    backend_.copy_pages(ticket, moves);
  }
  void swap_out(Ticket ticket, std::span<const PageMove> moves) override {
    backend_.swap_out(ticket, moves);
  }
  void swap_in(Ticket ticket, std::span<const PageMove> moves) override {
    backend_.swap_in(ticket, moves);
  }
  [[nodiscard]] BatchResult take(Ticket ticket) override;

 private:
  struct Pass {
    Ticket ticket = 0;
    TickRecord record;
    std::vector<TickRow> rows;
  };
  struct Known {
    std::uint32_t prompt_length = 0;
    std::uint32_t num_tokens = 0;  ///< When the slot was opened.
  };

  [[nodiscard]] bool is_prefill(const Row& row) const;

  Backend& backend_;
  const BackendHost& host_;
  Sink sink_;
  std::deque<std::vector<TickRow>> expected_;
  std::deque<Pass> passes_;  ///< Under way, oldest first.
  std::vector<Known> known_;
  std::int64_t last_end_ns_ = 0;
};

}  // namespace tickertape::actors
