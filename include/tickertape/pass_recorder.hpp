// PassRecorder: a backend that notes every pass on its way to another one.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include <tickertape/backend.hpp>

namespace tickertape {

/// One sequence's part of a tick.
struct TickRow {
  std::uint64_t request = 0;  ///< Whose: as PassRecorder's user numbers them.
  SlotId slot = 0;
  std::uint32_t num_tokens = 0;
  bool prefill = false;  ///< Tokens that were known when it was admitted or resumed.
  bool samples = false;  ///< Gives a token.
};

/// One pass, with the state of pool and line when it was planned.
struct TickRecord {
  std::int64_t start_ns = 0;
  std::int64_t duration_ns = 0;
  std::uint32_t num_tokens = 0;
  std::uint32_t num_prefill_tokens = 0;
  std::uint32_t num_rows = 0;
  std::uint32_t num_running = 0;
  std::uint32_t num_waiting = 0;
  std::uint32_t pages_free = 0;
  std::uint32_t pages_cached = 0;
  std::uint32_t pages_held = 0;
  std::uint64_t held_places = 0;  ///< Token places in held pages,
  std::uint64_t held_tokens = 0;  ///< and those with a token.
  /// Places without a token in the last page of each row, after the pass.
  std::uint64_t last_page_places = 0;
  std::size_t first_row = 0;  ///< Index of its first row where all rows are kept.
};

/// Stands between an engine and its backend, in Model::make_backend of a model of one's own. Passes
/// may overlap: a record begins when its pass could begin, and is complete when the result is
/// taken.
///
/// Thread rules: the lane, the functions too.
class PassRecorder final : public Backend {
 public:
  struct Functions {
    /// The number of the request that a slot is opened for; by its seed, say.
    std::function<std::uint64_t(const OpenedSlot&)> request_of;
    /// May change the gauges, which are otherwise what the batch tells: its rows and their pages.
    std::function<void(TickRecord&)> gauges;
    /// Takes each pass when it is complete, in their order; the rows may be moved from.
    std::function<void(const TickRecord&, std::vector<TickRow>&)> done;
  };

  /// `host` is the one that `backend` was made with. `functions.gauges` may be empty.
  PassRecorder(std::unique_ptr<Backend> backend, const BackendHost& host, Functions functions);

  [[nodiscard]] const BackendInfo& info() const noexcept override { return backend_->info(); }
  void forward(Ticket ticket, const Batch& batch) override;
  void copy_pages(Ticket ticket, std::span<const PageMove> moves) override {
    backend_->copy_pages(ticket, moves);
  }
  void swap_out(Ticket ticket, std::span<const PageMove> moves) override {
    backend_->swap_out(ticket, moves);
  }
  void swap_in(Ticket ticket, std::span<const PageMove> moves) override {
    backend_->swap_in(ticket, moves);
  }
  [[nodiscard]] BatchResult take(Ticket ticket) override;

 private:
  struct Slot {
    std::uint64_t request = 0;
    std::uint32_t prompt_length = 0;
    std::uint32_t num_tokens = 0;  ///< When it was opened.
  };
  struct Pass {
    Ticket ticket = 0;
    TickRecord record;
    std::vector<TickRow> rows;
  };

  void note(const Batch& batch, Pass& pass) const;

  std::unique_ptr<Backend> backend_;
  const BackendHost& host_;
  Functions functions_;
  std::vector<Slot> slots_;
  std::deque<Pass> passes_;  ///< Under way, oldest first.
  std::int64_t last_end_ns_ = 0;
};

}  // namespace tickertape
