// AllocatorActor: owns the pool of pages and the waiting line; the one place where pages change
// hands.
#pragma once
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include <tickertape/stats.hpp>

#include "actors/lane_host.hpp"
#include "actors/lane_port.hpp"
#include "actors/page_names.hpp"
#include "actors/planner.hpp"
#include "actors/planner_log.hpp"
#include "runtime/task.hpp"

namespace tickertape::actors {

/// A plan with the sequences that the stepper does not know yet, or is to end.
struct PlanMessage {
  Plan plan;
  std::vector<std::shared_ptr<Sequence>> opened;  ///< As plan.opened.
  std::vector<std::shared_ptr<Sequence>> ended;   ///< As plan.ended.
};

using Plans = runtime::Mailbox<PlanMessage>;

/// Answers every Demand with one Plan, as soon as there is something to do; until then the demand
/// stays unanswered and nobody runs. While a plan is under way the answer comes at once, be it an
/// empty plan: its pass brings the next Demand. Its handlers never suspend, so pages change hands
/// one message at a time.
///
/// Thread rules: the lane; stats() on any thread.
class AllocatorActor {
 public:
  /// `name_key` seeds the hash of pages' contents.
  AllocatorActor(PlannerOptions options, LaneHost& host, LanePort& port, Plans& plans,
                 std::size_t max_queued, std::uint64_t name_key = 0);

  [[nodiscard]] runtime::Task<> run(runtime::StopSource& stop);

  /// After run() has ended: every sequence that has not, in order of id.
  [[nodiscard]] std::vector<std::shared_ptr<Sequence>> take_all();

  [[nodiscard]] AllocatorInbox& inbox() noexcept { return inbox_; }
  [[nodiscard]] const Planner& planner() const noexcept { return planner_; }

  /// The gauges as of the last plan.
  [[nodiscard]] EngineStats stats() const;

  /// Called after each plan and at the end; for tests.
  std::function<void(const Planner&, const Plan&)> on_plan;
  /// Is told the planner's calls; null = nobody. Set before run().
  std::shared_ptr<PlannerLog> log;

 private:
  void handle(AllocatorMessage& message);
  void take_demand(Demand& demand);
  void name_generated(Demand& demand);
  void name_pages(Sequence& sequence);
  void forget(SequenceId id);
  void count_names();
  void submit(Submission& submission);
  void drain_dirty();
  void try_plan();
  void announce(Plan plan);
  void leave_queue(Sequence& sequence);
  void publish();
  void publish_end();

  LaneHost& host_;
  LanePort& port_;
  Plans& plans_;
  Planner planner_;
  PageNames names_;
  AllocatorInbox inbox_;
  bool demanded_ = false;  ///< The stepper waits for a plan.
  std::int64_t wake_at_ns_ = kNoDeadline;
  std::unordered_map<SequenceId, std::shared_ptr<Sequence>> sequences_;
  std::vector<AllocatorMessage> messages_;
  std::vector<std::shared_ptr<Stream>> dirty_;

  mutable std::mutex stats_mutex_;
  EngineStats stats_;
};

}  // namespace tickertape::actors
