// Planner: the scheduling state, and the one function that decides a tick.
#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include <tickertape/kv_pool.hpp>
#include <tickertape/policy.hpp>
#include <tickertape/stats.hpp>

#include "actors/plan.hpp"

namespace tickertape::actors {

struct PlannerOptions {
  KvPoolOptions pool;
  std::uint32_t max_num_seqs = 64;
  std::uint32_t max_num_batched_tokens = 512;
  std::uint32_t prefill_chunk = 0;  ///< Most prompt tokens of one sequence per tick; 0 = what fits.
  std::int64_t park_grace_ns = 0;
  std::int64_t stall_timeout_ns = kNoDeadline;
  std::shared_ptr<const AdmissionPolicy> admission;
  std::shared_ptr<const PreemptionPolicy> preemption;
  std::shared_ptr<const OrderPolicy> order;
};

/// A request as planning sees it: what its choices share.
struct PlannedRequest {
  std::uint32_t num_choices = 1;
  std::uint32_t num_left = 0;       ///< Choices that have not ended.
  std::vector<SequenceId> running;  ///< Choices that run, lowest first.
  std::uint64_t granted = 0;        ///< Tokens that the reader allows in all.
  std::uint64_t emitted = 0;        ///< Tokens sampled and delivered.
  std::uint64_t in_flight = 0;      ///< Rows under way that sample: they count against the window.

  [[nodiscard]] bool has_credit() const noexcept { return granted > emitted + in_flight; }
};

/// A sequence (one choice of a request) as planning sees it.
struct PlannedSequence {
  SequenceView view;
  SequenceId request = 0;
  bool running = false;
  SlotId slot = 0;
  bool in_flight = false;  ///< Has a row in the pass that runs now.
  bool samples = false;    ///< And that row samples.
  bool ending = false;     ///< Ended while in flight: its pages are fenced until the pass is done.
  bool scores_prompt = false;
  std::uint32_t num_scored = 0;
  std::uint32_t num_lost = 0;  ///< Tokens whose K and V its preemption threw away.
};

/// Knows nothing: every answer may become as long as it is allowed to.
class NoForecast final : public LengthForecast {
 public:
  void survival(const SequenceView&, std::span<const std::uint32_t>,
                std::span<std::uint32_t> out) const override {
    std::fill(out.begin(), out.end(), kCertain);
  }
};

/// The scheduling state of an engine: a plain value. Given the same calls with the same arguments
/// it gives the same plans, everywhere: all arithmetic is in integers.
class Planner {
 public:
  explicit Planner(PlannerOptions options);

  /// Puts the choices of a request into the waiting line.
  void add(const NewRequest& request, std::int64_t now_ns);

  /// Takes in what the last pass gave.
  void commit(const Demand& demand);

  /// Takes in what a reader did. Unknown (ended) requests and choices are ignored.
  void apply(const ReaderEvent& event);

  /// Decides the next tick: who ends, who runs, who is preempted, who is admitted. Rows of the plan
  /// are in flight until commit() names them.
  [[nodiscard]] Plan make_plan(std::int64_t now_ns);

  /// Ends everything that is not in flight (shutdown, drain deadline); told by the next plan.
  void end_all(FinishReason reason);

  [[nodiscard]] std::size_t num_running() const noexcept { return running_.size(); }
  [[nodiscard]] std::size_t num_waiting() const noexcept { return waiting_.size(); }
  [[nodiscard]] const KvPool& pool() const noexcept { return pool_; }
  [[nodiscard]] const PlannedSequence* find(SequenceId id) const;
  [[nodiscard]] const PlannedRequest* find_request(SequenceId id) const;
  [[nodiscard]] const PlannerOptions& options() const noexcept { return options_; }

  /// Writes the gauges and the planner's counters.
  void fill(EngineStats& stats) const;

  /// Asserts every invariant between tables, lists and pool. For tests and debug builds.
  void check() const;

 private:
  struct Tick;

  PlannedSequence& get(SequenceId id) { return sequences_.at(id); }
  PlannedRequest& request_of(const PlannedSequence& sequence) {
    return requests_.at(sequence.request);
  }
  [[nodiscard]] const PlannedRequest& request_of(const PlannedSequence& sequence) const {
    return requests_.at(sequence.request);
  }
  void add_choice(const NewRequest& wanted, std::uint32_t choice, std::int64_t now_ns);
  void end(SequenceId id, FinishReason reason);
  void forget(SequenceId id);
  void leave_running(PlannedSequence& sequence);
  void insert_waiting(const PlannedSequence& sequence);
  void erase_waiting(SequenceId id);
  void expire(std::int64_t now_ns);
  void update_parking(std::int64_t now_ns);
  void unpark(PlannedSequence& sequence);
  void plan_running(Tick& tick, bool decodes);
  void plan_row(Tick& tick, PlannedSequence& sequence);
  [[nodiscard]] bool may_sample(Tick& tick, const PlannedSequence& sequence);
  void land(PlannedSequence& sequence);
  [[nodiscard]] bool grow(Tick& tick, SequenceId id, std::uint32_t num_tokens);
  [[nodiscard]] bool make_room(Tick& tick, SequenceId grower);
  [[nodiscard]] std::size_t oldest_runnable() const;
  void preempt(Tick& tick, SequenceId victim);
  void admit_waiting(Tick& tick);
  [[nodiscard]] bool evict_parked(Tick& tick);
  void fail_hopeless(Tick& tick);
  [[nodiscard]] bool fits(Tick& tick, const PlannedSequence& candidate) const;
  void admit(Tick& tick, SequenceId id);
  void share_prompt(Tick& tick, PlannedSequence& sequence);
  [[nodiscard]] bool shares_prompt(const PlannedSequence& sequence) const;
  [[nodiscard]] const PlannedSequence* donor(const PlannedSequence& candidate) const;
  [[nodiscard]] bool waits_for_sibling(const PlannedSequence& candidate) const;
  [[nodiscard]] std::uint64_t count_held_tokens() const;
  void check_requests() const;
  void refresh_views(Tick& tick) const;
  [[nodiscard]] PoolView pool_view() const;
  [[nodiscard]] std::int64_t next_wake(std::int64_t now_ns) const;
  void finish(Tick& tick);

  PlannerOptions options_;
  KvPool pool_;
  std::unordered_map<SequenceId, PlannedRequest> requests_;  ///< By the id of choice 0.
  std::unordered_map<SequenceId, PlannedSequence> sequences_;
  std::vector<SequenceId> running_;  ///< Oldest first.
  std::vector<SequenceId> waiting_;  ///< In the order policy's order.
  std::set<std::pair<std::int64_t, SequenceId>> deadlines_;
  std::set<std::pair<std::int64_t, SequenceId>> stalled_;  ///< Out of credit, since when.
  std::vector<SequenceId> exhausted_;  ///< Requests whose window the last pass used up.
  NoForecast forecast_;
  std::set<SlotId> free_slots_;
  std::vector<SlotId> closed_slots_;
  std::vector<PlanEnded> ended_;
  std::uint64_t next_arrival_ = 0;
  std::uint64_t tick_ = 0;
  std::uint64_t preemptions_ = 0;
  std::uint64_t recomputed_tokens_ = 0;
};

}  // namespace tickertape::actors
