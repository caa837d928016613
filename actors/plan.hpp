// Demand and Plan: the stepper's question and the allocator's answer, as plain values.
#pragma once
#include <cstdint>
#include <limits>
#include <vector>

#include <tickertape/batch.hpp>
#include <tickertape/finish.hpp>
#include <tickertape/kv_pool.hpp>
#include <tickertape/policy.hpp>
#include <tickertape/request.hpp>
#include <tickertape/stats.hpp>

namespace tickertape::actors {

inline constexpr std::int64_t kNoDeadline = std::numeric_limits<std::int64_t>::max();

/// What planning needs to know of a new request. Each of its choices is a sequence of its own:
/// choice c has the id `id + c`.
struct NewRequest {
  SequenceId id = 0;
  std::uint32_t num_choices = 1;
  std::uint32_t prompt_tokens = 0;
  std::uint32_t max_tokens = 0;  ///< Prompt and generated tokens together, at most.
  bool scores_prompt = false;    ///< Wants the prompt's log-probabilities (choice 0 gives them).
  bool is_chat = false;          ///< For the profile of lengths.
  std::int32_t priority = 0;
  std::uint64_t client = 0;
  std::uint64_t granted = 0;  ///< Tokens that the reader allows in all, so far, of all choices.
  std::int64_t deadline_ns = kNoDeadline;
  bool needs_host = false;      ///< A LogitProcessor sees each token before the next is computed.
  std::vector<PageName> names;  ///< Of the prompt's full pages; empty without a prefix cache.
};

/// What became of one row of the last pass.
struct RowDone {
  SequenceId id = 0;
  std::uint32_t num_computed = 0;  ///< Tokens whose K and V are in the pages now.
  std::uint32_t num_scored = 0;    ///< Prompt positions whose log-probability was given.
  std::uint32_t num_emitted = 0;   ///< Tokens sampled and delivered.
  bool ended = false;              ///< The stepper has delivered its end.
  bool by_itself = false;          ///< And that was an end or stop token.
};

/// The next full page of a sequence has this name.
struct NamedPage {
  SequenceId id = 0;
  PageName name = 0;
};

/// The stepper's question, once per plan, with what the oldest plan under way came to.
struct Demand {
  bool has_landed = true;        ///< False: a question only, nothing is done yet.
  std::vector<RowDone> done;     ///< Of every row of the last plan that is not filler.
  std::vector<NamedPage> named;  ///< Pages that generated tokens have filled.
  std::int64_t pass_ns = 0;      ///< What the passes took; 0 = there was none.
  std::int64_t swap_ns = 0;      ///< What the moves to and from the host took.
  bool swap_failed = false;      ///< What they moved is lost.
  bool copy_failed = false;      ///< What was copied on the device is lost.
};

/// A change that came from a reader: drained from the streams before each plan.
struct ReaderEvent {
  SequenceId id = 0;          ///< The request: that of its choice 0.
  std::uint64_t granted = 0;  ///< All tokens allowed so far.
  bool cancelled = false;
  std::vector<std::uint32_t> stopped;  ///< Choices whose stop string was found.
};

/// Filler is computed and thrown away: what a static batch costs beside its work.
enum class RowKind : std::uint8_t {
  work,
  padding,  ///< Places behind a prompt that is shorter than the longest of its batch.
  finished  ///< A sequence that has ended, while others of its batch go on.
};

/// Rows of one slice are computed by one pass; a slot has at most one row in a slice.
struct PlanRow {
  SequenceId id = 0;
  SlotId slot = 0;
  std::uint32_t first_position = 0;
  std::uint32_t num_tokens = 0;
  RowSource source =
      RowSource::ids;  ///< `last_token_of`: what its slot sampled in the plan before.
  RowOutput output = RowOutput::none;
  std::uint32_t num_outputs = 0;
  std::uint32_t slice = 0;  ///< 0, 1, ...: passes of the tick, in their order.
  RowKind kind = RowKind::work;
};

struct PlanOpened {
  SequenceId id = 0;
  SlotId slot = 0;
  bool resumed = false;
  Notice::How how = Notice::How::recompute;  ///< With `resumed`: what it was preempted by.
  std::uint32_t cached_tokens = 0;           ///< Found in the prefix cache.
  std::uint32_t swapped_pages = 0;           ///< That come back from the host.
};

struct PlanPreempted {
  SequenceId id = 0;
  Notice::How how = Notice::How::recompute;
  std::uint32_t swapped_pages = 0;
};

struct PlanEnded {
  SequenceId id = 0;
  FinishReason reason = FinishReason::none;
};

/// What a plan does with the pages of a layer group.
struct GroupPlan {
  std::vector<PageCopy> swap_out;  ///< Device page to host page; takes effect first,
  std::vector<PageCopy> swap_in;   ///< then host page to device page,
  std::vector<PageCopy> copies;    ///< then copies on the device, then the rows.
  PageTables tables;               ///< Of the rows, in their order.
};

/// The allocator's answer: everything that changes hands in this tick. What it has of GroupPlan is
/// the first layer group's.
struct Plan : GroupPlan {
  std::uint64_t tick = 0;
  std::vector<PlanOpened> opened;
  std::vector<SlotId> closed;  ///< Told with the next plan that has rows.
  std::vector<PlanRow> rows;
  std::vector<GroupPlan> windows;  ///< Of the other layer groups.
  std::vector<PlanPreempted> preempted;
  std::vector<PlanEnded> ended;
  bool batch_ended = false;  ///< A static batch: what it held back is delivered now.
  IdleCause idle_cause = IdleCause::planning;  ///< Why the device had nothing before this plan.
  std::int64_t wake_at_ns = kNoDeadline;       ///< When planning again may give something new.

  /// The backend has something to do for it: it is under way from now on.
  [[nodiscard]] bool has_work() const noexcept {
    return !rows.empty() || count(&GroupPlan::swap_out) > 0 || count(&GroupPlan::swap_in) > 0 ||
           count(&GroupPlan::copies) > 0;
  }
  /// Moves of all layer groups together.
  [[nodiscard]] std::size_t count(std::vector<PageCopy> GroupPlan::* moves) const noexcept {
    std::size_t sum = (this->*moves).size();
    for (const GroupPlan& group : windows) sum += (group.*moves).size();
    return sum;
  }
  /// Nothing for the stepper to do.
  [[nodiscard]] bool empty() const noexcept {
    return rows.empty() && preempted.empty() && ended.empty() && !batch_ended;
  }
};

}  // namespace tickertape::actors
