// Planner: the scheduling state, and the one function that decides a tick.
#pragma once
#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include <tickertape/kv_pool.hpp>
#include <tickertape/policy.hpp>
#include <tickertape/stats.hpp>

#include "actors/host_pool.hpp"
#include "actors/kv_windows.hpp"
#include "actors/length_profile.hpp"
#include "actors/pass_model.hpp"
#include "actors/plan.hpp"
#include "actors/planned.hpp"
#include "actors/planner_options.hpp"
#include "actors/waiting_line.hpp"

namespace tickertape::actors {

/// What planning has counted since it began.
struct PlannerCounters {
  std::uint64_t recomputed_tokens = 0;
  std::uint64_t recompute_preemptions = 0;
  std::uint64_t swap_preemptions = 0;
  std::uint64_t pages_swapped_out = 0;
  std::uint64_t pages_swapped_in = 0;
  std::uint64_t prefix_queries = 0;  ///< Prompt tokens looked up.
  std::uint64_t prefix_hits = 0;     ///< Prompt tokens found.
  std::uint64_t slot_ticks = 0;      ///< Slots offered, summed over ticks.
  std::uint64_t useful_slot_ticks = 0;
  std::uint64_t computed_tokens = 0;
  std::uint64_t prompt_padding_tokens = 0;
  std::uint64_t finished_row_tokens = 0;
  std::uint64_t overlapped_ticks = 0;
  std::uint64_t dropped_row_tokens = 0;
  std::uint64_t waits = 0;  ///< Ticks that a row waited for room instead of preempting.
};

/// The scheduling state of an engine: a plain value. Given the same calls with the same arguments
/// it gives the same plans, everywhere: all arithmetic is in integers.
///
/// Rules: docs/contracts.md, section "Scheduling". The parts: make_plan.cpp fills the passes,
/// admit.cpp starts sequences, make_room.cpp takes pages from them, make_way.cpp their places,
/// static_batch.cpp is the baseline.
class Planner {
 public:
  explicit Planner(PlannerOptions options);
  Planner(const Planner&) = delete;
  Planner& operator=(const Planner&) = delete;

  /// Puts the choices of a request into the waiting line.
  void add(const NewRequest& request, std::int64_t now_ns);

  /// Takes in what the oldest plan under way came to.
  void commit(const Demand& demand);

  /// Takes in what a reader did. Unknown (ended) requests and choices are ignored.
  void apply(const ReaderEvent& event);

  /// Decides the next tick: who ends, who runs, who is preempted, who is admitted. Rows of the plan
  /// are in flight until commit() names them, or an earlier row ends their sequence.
  ///
  /// With `overlap` it may be called while a plan is under way. Such a plan goes on from what the
  /// one before will have computed and takes nothing from anybody: where that is needed, nothing
  /// more is planned until all is done.
  [[nodiscard]] Plan make_plan(std::int64_t now_ns);

  /// Ends everything that is not in flight (shutdown, drain deadline); told by the next plan.
  void end_all(FinishReason reason);

  [[nodiscard]] std::size_t num_under_way() const noexcept { return under_way_.size(); }
  [[nodiscard]] std::size_t num_running() const noexcept { return running_.size(); }
  [[nodiscard]] std::size_t num_waiting() const noexcept {
    return sequences_.size() - running_.size();
  }
  [[nodiscard]] const KvPool& pool() const noexcept { return pool_; }
  [[nodiscard]] const HostPool& host_pool() const noexcept { return host_; }
  [[nodiscard]] const KvWindows& windows() const noexcept { return windows_; }
  [[nodiscard]] const LengthProfile& profile() const noexcept { return profile_; }
  [[nodiscard]] const PassModel& pass_model() const noexcept { return pass_model_; }
  [[nodiscard]] const PlannerCounters& counters() const noexcept { return counters_; }
  [[nodiscard]] const PlannedSequence* find(SequenceId id) const;
  [[nodiscard]] const PlannedRequest* find_request(SequenceId id) const;
  [[nodiscard]] const PlannerOptions& options() const noexcept { return options_; }

  /// Names that pages have come to have, and lost, since the last call.
  [[nodiscard]] KvPool::NameChanges take_name_changes() { return pool_.take_name_changes(); }

  /// Writes the gauges and the planner's counters.
  void fill(EngineStats& stats) const;

  /// Asserts every invariant between tables, lists and pools. For tests and debug builds.
  void check() const;

 private:
  struct Tick;
  /// What is known of a plan under way, beside its rows.
  struct UnderWay {
    std::uint64_t tokens = 0;  ///< For the model of its time; 0 = it is not about such a plan.
    std::uint64_t context = 0;
    std::uint32_t num_swaps = 0;
    std::vector<SequenceId> swapped;
    std::vector<SequenceId> copied;
    std::vector<SwappedOut> swapped_in;  ///< Whose host pages its moves read.
  };

  PlannedSequence& get(SequenceId id) { return sequences_.at(id); }

  // planner.cpp: what changes between plans.
  void add_choice(const NewRequest& wanted, PlannedRequest& request, std::uint32_t choice,
                  std::int64_t now_ns);
  void commit_row(const RowDone& done);
  void commit_moves(const Demand& demand);
  void drop_flights(PlannedSequence& sequence);
  void land(PlannedSequence& sequence, std::size_t index);
  void name_pages(PlannedSequence& sequence);
  void end(PlannedSequence& sequence, FinishReason reason);
  void forget(PlannedSequence& sequence);
  void leave_running(PlannedSequence& sequence);
  void join_line(PlannedSequence& sequence);
  void leave_line(const PlannedSequence& sequence);
  void refresh_table(PlannedSequence& sequence);
  void expire(std::int64_t now_ns);
  void update_parking(std::int64_t now_ns);
  void unpark(PlannedSequence& sequence);
  void lose_swapped(PlannedSequence& sequence);
  void give_back(const SwappedOut& swapped);
  void learn(const Demand& demand, const UnderWay& landed);

  // make_plan.cpp
  void plan_continuous(Tick& tick);
  [[nodiscard]] bool may_have_row(Tick& tick, const PlannedSequence& sequence) const;
  [[nodiscard]] static bool is_decode(const PlannedSequence& sequence);
  void plan_decodes(Tick& tick);
  void plan_prompts(Tick& tick);
  void plan_row(Tick& tick, PlannedSequence& sequence);
  void add_rows(Tick& tick, PlannedSequence& sequence, PlanRow row);
  [[nodiscard]] bool may_sample(Tick& tick, const PlannedSequence& sequence);
  void limit_prefill(Tick& tick) const;
  void finish(Tick& tick);
  void tell_ends(Plan& plan);
  void note_under_way(Tick& tick);
  void name_idle_cause(Tick& tick);
  void count(const Tick& tick);
  [[nodiscard]] std::int64_t next_wake(std::int64_t now_ns) const;

  // make_room.cpp
  [[nodiscard]] bool grow(Tick& tick, PlannedSequence& sequence, std::uint32_t num_tokens);
  [[nodiscard]] bool make_room(Tick& tick, PlannedSequence& grower);
  void take_back_row(Tick& tick, PlannedSequence& sequence);
  [[nodiscard]] bool better_waits(const PlannedSequence& victim) const;
  [[nodiscard]] std::size_t oldest_runnable() const;
  void preempt(Tick& tick, PlannedSequence& victim);
  [[nodiscard]] Notice::How method_for(const Tick& tick, const PlannedSequence& victim) const;
  [[nodiscard]] std::int64_t recompute_cost_ns(const PlannedSequence& victim) const;
  [[nodiscard]] std::int64_t prefill_cost_ns(const PlannedSequence& sequence,
                                             std::uint32_t num_tokens) const;
  void swap_out(Tick& tick, PlannedSequence& victim);
  [[nodiscard]] std::uint32_t num_found_by_name(const PlannedSequence& sequence) const;
  [[nodiscard]] std::uint32_t num_to_swap(const PlannedSequence& victim) const;
  [[nodiscard]] std::uint32_t pages_freed_by(const PlannedSequence& victim,
                                             const PlannedSequence& candidate) const;
  [[nodiscard]] bool evict_parked(Tick& tick);

  // make_way.cpp
  void admit_in_place_of_others(Tick& tick);
  [[nodiscard]] bool may_make_way(const PlannedSequence& sequence) const;
  [[nodiscard]] std::vector<PlannedSequence*> victims_for(const PlannedSequence& candidate) const;
  [[nodiscard]] std::vector<PlannedSequence*> victims_of_lower_class(
      const PlannedSequence& candidate) const;
  [[nodiscard]] std::vector<PlannedSequence*> victims_above_share(
      const PlannedSequence& candidate) const;
  [[nodiscard]] bool keep_as_few_as_needed(Tick& tick, const PlannedSequence& candidate,
                                           std::vector<PlannedSequence*>& victims) const;

  // admit.cpp
  void admit_waiting(Tick& tick);
  [[nodiscard]] bool admit_before(Tick& tick, std::int64_t rank);
  [[nodiscard]] bool admit_next(Tick& tick, SequenceId id);
  [[nodiscard]] bool must_wait_for_others(const PlannedSequence& candidate) const;
  [[nodiscard]] bool is_hopeless(const Tick& tick, const PlannedSequence& candidate) const;
  [[nodiscard]] bool fits(Tick& tick, const PlannedSequence& candidate) const;
  [[nodiscard]] bool fits(const Tick& tick, const PlannedSequence& candidate,
                          std::span<const SequenceView> running, std::uint32_t num_more) const;
  void admit(Tick& tick, PlannedSequence& sequence);
  void take_place(Tick& tick, PlannedSequence& sequence);
  void swap_in(Tick& tick, PlannedSequence& sequence);
  void find_prefix(PlannedSequence& sequence);
  void share_prompt(Tick& tick, PlannedSequence& sequence);
  [[nodiscard]] bool shares_prompt(const PlannedSequence& sequence) const;
  [[nodiscard]] const PlannedSequence* donor(const PlannedSequence& candidate) const;
  [[nodiscard]] bool waits_for_sibling(const PlannedSequence& candidate) const;
  [[nodiscard]] std::span<const PageName> wanted_names(const PlannedSequence& sequence) const;
  [[nodiscard]] KvPool::Match find_pages(const PlannedSequence& sequence) const;
  [[nodiscard]] bool waits_for_prefix(const PlannedSequence& candidate) const;
  void fail_hopeless(Tick& tick);
  void refresh_views(Tick& tick) const;
  [[nodiscard]] std::uint32_t num_shared_first(const PlannedSequence& sequence) const;
  [[nodiscard]] PoolView pool_view() const;

  // static_batch.cpp
  void plan_static(Tick& tick);
  void form_batch(Tick& tick);
  [[nodiscard]] std::vector<SequenceId> choose_batch() const;
  [[nodiscard]] std::int64_t static_wake_ns() const;

  // planner_view.cpp
  [[nodiscard]] std::uint64_t count_held_tokens() const;
  void check_sequence(const PlannedSequence& sequence) const;
  void check_requests() const;
  void check_host_pages() const;
  void check_windows() const;
  void check_order() const;

  PlannerOptions options_;
  KvPool pool_;
  HostPool host_;
  KvWindows windows_;  ///< The same for the other layer groups.
  LengthProfile profile_;
  PassModel pass_model_;
  WaitingLine line_;                                         ///< Those that wait and have credit.
  std::unordered_map<SequenceId, PlannedRequest> requests_;  ///< By the id of choice 0.
  std::unordered_map<SequenceId, PlannedSequence> sequences_;
  std::vector<PlannedSequence*> running_;  ///< Oldest first.
  std::set<std::pair<std::int64_t, SequenceId>> deadlines_;
  std::set<std::pair<std::int64_t, SequenceId>> stalled_;  ///< Out of credit, since when.
  std::vector<SequenceId> exhausted_;  ///< Requests whose window the last pass used up.
  std::unordered_map<PageName, SequenceId> being_computed_;  ///< Prompt pages, and by whom.
  std::set<SlotId> free_slots_;
  std::vector<SlotId> closed_slots_;
  std::vector<PlanEnded> ended_;
  std::deque<UnderWay> under_way_;  ///< Oldest first.
  bool wants_landing_ = false;      ///< Nothing is planned until all that is under way is done.
  IdleCause idle_cause_ = IdleCause::no_work;
  std::uint64_t num_calls_ = 0;  ///< Of make_plan().
  std::int64_t swap_ns_per_page_ = 0;
  std::int64_t last_pass_ns_ = 0;
  std::uint32_t batch_size_ = 0;  ///< Of the static batch under way; 0 = none.
  std::uint64_t next_arrival_ = 0;
  std::uint64_t tick_ = 0;
  PlannerCounters counters_;
};

}  // namespace tickertape::actors
