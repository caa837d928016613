// StepperActor: one batched forward pass per tick.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include <tickertape/backend.hpp>
#include <tickertape/tokenizer.hpp>

#include "actors/allocator.hpp"
#include "actors/delivery.hpp"
#include "runtime/task.hpp"

namespace tickertape::actors {

/// Demand -> Plan -> pass -> sample -> deliver, for ever. It knows sequences and slots, and nothing
/// of clients but where their events go.
///
/// Thread rules: the lane.
class StepperActor {
 public:
  /// `end_tokens`: sorted; a sampled one ends its sequence unless ignore_eos.
  StepperActor(Backend& backend, LaneHost& host, LanePort& port, Plans& plans,
               AllocatorInbox& allocator, std::vector<TokenId> end_tokens);

  [[nodiscard]] runtime::Task<> run(runtime::StopSource& stop);

  [[nodiscard]] Delivery& delivery() noexcept { return delivery_; }

 private:
  /// The operations of a tick that the backend works on.
  struct Pass {
    std::size_t num_pending = 0;
    Ticket forward = 0;
    BatchResult result;  ///< The forward's, or the copies' when those failed.
  };

  void take_plan(PlanMessage& message);
  void start_pass(const PlanMessage& message);
  void end_operation(Ticket ticket);
  /// Null when it has none.
  std::shared_ptr<Sequence> leave_slot(SequenceId id);
  [[nodiscard]] Batch make_batch(const PlanMessage& message) const;
  void open_slot(Batch& batch, const PlanOpened& opened, const Sequence& sequence) const;
  void add_ids(Batch& batch, Row& row, const PlanRow& planned, const Sequence& sequence) const;
  [[nodiscard]] Demand commit(const Plan& plan, const BatchResult& result);
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
  std::vector<TokenId> end_tokens_;
  std::vector<std::shared_ptr<Sequence>> slots_;  ///< By slot; null = closed.
  Delivery delivery_;
  Pass pass_;
  Ticket next_ticket_ = 1;
};

}  // namespace tickertape::actors
