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
  std::int32_t priority = 0;
  std::uint64_t client = 0;
  std::uint64_t granted = 0;  ///< Tokens that the reader allows in all, so far, of all choices.
  std::int64_t deadline_ns = kNoDeadline;
};

/// What became of one row of the last pass.
struct RowDone {
  SequenceId id = 0;
  std::uint32_t num_computed = 0;  ///< Tokens whose K and V are in the pages now.
  std::uint32_t num_scored = 0;    ///< Prompt positions whose log-probability was given.
  std::uint32_t num_emitted = 0;   ///< Tokens sampled and delivered.
  bool ended = false;              ///< The stepper has delivered its end.
};

/// The stepper's question, once per tick.
struct Demand {
  std::vector<RowDone> done;
};

/// A change that came from a reader: drained from the streams before each plan.
struct ReaderEvent {
  SequenceId id = 0;          ///< The request: that of its choice 0.
  std::uint64_t granted = 0;  ///< All tokens allowed so far.
  bool cancelled = false;
  std::vector<std::uint32_t> stopped;  ///< Choices whose stop string was found.
};

struct PlanRow {
  SequenceId id = 0;
  SlotId slot = 0;
  std::uint32_t first_position = 0;
  std::uint32_t num_tokens = 0;
  RowOutput output = RowOutput::none;
  std::uint32_t num_outputs = 0;
};

struct PlanOpened {
  SequenceId id = 0;
  SlotId slot = 0;
  bool resumed = false;
};

struct PlanPreempted {
  SequenceId id = 0;
  Notice::How how = Notice::How::recompute;
};

struct PlanEnded {
  SequenceId id = 0;
  FinishReason reason = FinishReason::none;
};

/// The allocator's answer: everything that changes hands in this tick. Rows and `tables` in the
/// same order.
struct Plan {
  std::uint64_t tick = 0;
  std::vector<PlanOpened> opened;
  std::vector<SlotId> closed;    ///< Told with the next plan that has rows.
  std::vector<PageCopy> copies;  ///< Take effect before the rows.
  std::vector<PlanRow> rows;
  PageTables tables;
  std::vector<PlanPreempted> preempted;
  std::vector<PlanEnded> ended;
  std::int64_t wake_at_ns = kNoDeadline;  ///< When planning again may give something new.

  /// Nothing for the stepper to do.
  [[nodiscard]] bool empty() const noexcept {
    return rows.empty() && preempted.empty() && ended.empty();
  }
};

}  // namespace tickertape::actors
