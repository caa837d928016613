// StepperActor: one batched forward pass per tick.
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <tickertape/backend.hpp>
#include <tickertape/tokenizer.hpp>

#include "actors/allocator.hpp"
#include "actors/delivery.hpp"
#include "runtime/task.hpp"

namespace tickertape::actors {

struct StepperOptions {
  std::vector<TokenId> end_tokens;  ///< Sorted; a sampled one ends its sequence unless ignore_eos.
  bool holds_batches = false;  ///< What is generated waits for a plan that says its batch ended.
  bool overlaps = false;       ///< The next plan is asked for while one is under way.
};

/// Demand -> Plan -> pass -> sample -> deliver, for ever. With overlap the next plan is asked for
/// as soon as one has begun, so that the device finds it when it is done. It knows sequences and
/// slots, and nothing of clients but where their events go.
///
/// Thread rules: the lane.
class StepperActor {
 public:
  StepperActor(Backend& backend, LaneHost& host, LanePort& port, Plans& plans,
               AllocatorInbox& allocator, StepperOptions options);

  [[nodiscard]] runtime::Task<> run(runtime::StopSource& stop);

  [[nodiscard]] Delivery& delivery() noexcept { return delivery_; }

 private:
  /// The operations of a tick that the backend works on; their tickets follow each other.
  struct Pass {
    Plan plan;
    Ticket first_move = 0;     ///< Swaps and copies,
    Ticket first_forward = 0;  ///< then a forward for each slice.
    Ticket end = 0;            ///< One beyond the last.
    std::size_t num_pending = 0;
    std::size_t num_swaps = 0;  ///< Of the moves, the first ones.
    std::int64_t started_ns = 0;
    std::int64_t done_ns = 0;
    std::int64_t swapped_ns = 0;  ///< When the last swap was complete.
    bool abandoned = false;
    std::string swap_fault;  ///< What was moved is lost.
    std::string fault;       ///< Of a copy or a pass: no row counts.
    bool copy_failed = false;
    std::vector<BatchResult> slices;
  };

  void take_plan(PlanMessage& message);
  void start_pass(Plan plan);
  void note_idle(const Plan& plan);
  void start_moves(Pass& pass);
  void move(Pass& pass, std::vector<PageCopy> GroupPlan::* copies,
            void (Backend::*operation)(Ticket, std::span<const PageMove>));
  void end_operation(Ticket ticket);
  /// Null when it has none.
  std::shared_ptr<Sequence> leave_slot(SequenceId id);
  /// The rows [first, end) of a plan, which are one slice.
  [[nodiscard]] Batch make_batch(const Plan& plan, std::size_t first, std::size_t end) const;
  void open_slot(Batch& batch, const PlanOpened& opened, const Sequence& sequence) const;
  void add_ids(Batch& batch, Row& row, const PlanRow& planned, const Sequence& sequence) const;
  [[nodiscard]] Demand commit(const Pass& pass);
  [[nodiscard]] bool is_dropped(const PlanRow& planned) const;
  void go_on_for_nothing(const Pass& pass, const PlanRow& planned, std::size_t index);
  [[nodiscard]] static bool lost_by_swap(const Pass& pass, const PlanRow& planned);
  [[nodiscard]] bool ends_by_fault(const Pass& pass, const PlanRow& planned, const RowResult* row);
  [[nodiscard]] RowDone commit_row(const PlanRow& planned, const BatchResult& result,
                                   const RowResult& row);
  void deliver_scores(const PlanRow& planned, Sequence& sequence, const BatchResult& result,
                      const RowResult& row, RowDone& done);
  void deliver_token(Sequence& sequence, const BatchResult& result, const RowResult& row,
                     FinishReason reason);
  [[nodiscard]] FinishReason end_after(const Sequence& sequence) const;

  Backend& backend_;
  LaneHost& host_;
  LanePort& port_;
  Plans& plans_;
  AllocatorInbox& allocator_;
  const StepperOptions options_;
  std::vector<std::shared_ptr<Sequence>> slots_;  ///< By slot; null = closed.
  Delivery delivery_;
  std::deque<Pass> passes_;          ///< Under way, oldest first.
  std::int64_t idle_since_ns_ = -1;  ///< When the last pass was done; -1 = there was none.
  Ticket next_ticket_ = 1;
};

}  // namespace tickertape::actors
