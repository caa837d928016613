// make_plan: the decision of one tick. Rules: docs/contracts.md, section "Scheduling".
#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include <tickertape/assert.hpp>

#include "actors/tick.hpp"

namespace tickertape::actors {

Plan Planner::make_plan(std::int64_t now_ns) {
  TICKERTAPE_ASSERT(under_way_.size() < kMaxPlansUnderWay);
  ++num_calls_;
  Tick tick;
  tick.now_ns = now_ns;
  tick.plan.windows.resize(windows_.size());
  tick.is_ahead = !under_way_.empty();
  if (!tick.is_ahead) wants_landing_ = false;
  // Whole prompts take as many passes as they need.
  tick.budget = options_.batching == Batching::chunked ? options_.max_num_batched_tokens
                                                       : std::numeric_limits<std::uint32_t>::max();
  tick.slice_left = options_.max_num_batched_tokens;
  expire(now_ns);
  update_parking(now_ns);
  if (tick.is_ahead && !options_.overlap) {
    // Only what is to be told.
  } else if (options_.is_static()) {
    plan_static(tick);
  } else {
    plan_continuous(tick);
  }
  if (!tick.is_ahead) fail_hopeless(tick);
  finish(tick);
  return std::move(tick.plan);
}

void Planner::plan_continuous(Tick& tick) {
  if (wants_landing_) return;
  admit_in_place_of_others(tick);
  if (wants_landing_) return;
  plan_decodes(tick);
  limit_prefill(tick);
  plan_prompts(tick);
  if (!tick.preempted && !wants_landing_) admit_waiting(tick);
}

bool Planner::may_have_row(Tick& tick, const PlannedSequence& sequence) const {
  if (!sequence.running || sequence.ending || sequence.view.parked ||
      sequence.last_planned == num_calls_) {
    return false;
  }
  if (!tick.is_ahead) return true;
  if (sequence.waits_for_host()) {
    tick.waits_for_host = true;
    return false;
  }
  // What is moved for it may yet fail to be.
  return sequence.num_moves == 0 && !(sequence.in_flight() && sequence.is_last_under_way());
}

bool Planner::is_decode(const PlannedSequence& sequence) {
  const std::uint32_t num_tokens = sequence.next_num_tokens();
  return num_tokens > sequence.view.prompt_tokens && num_tokens - sequence.next_position() == 1;
}

void Planner::plan_decodes(Tick& tick) {
  const std::vector<PlannedSequence*> all = running_;  // Preemption changes running_.
  for (PlannedSequence* const sequence : all) {
    if (tick.budget == 0) return;
    if (may_have_row(tick, *sequence) && is_decode(*sequence)) plan_row(tick, *sequence);
  }
}

/// In the order of the line. Before a prompt goes on, whoever waits, comes before it and has room
/// starts: else it would wait for all of that prompt.
void Planner::plan_prompts(Tick& tick) {
  std::vector<std::tuple<std::int64_t, std::uint64_t, PlannedSequence*>> prompts;
  for (PlannedSequence* const sequence : running_) {
    if (!may_have_row(tick, *sequence) || is_decode(*sequence)) continue;
    const SequenceView& view = sequence->view;
    prompts.emplace_back(options_.order->rank(view), view.arrival, sequence);
  }
  std::sort(prompts.begin(), prompts.end());
  bool first_may_start = true;
  for (const auto& [rank, arrival, sequence] : prompts) {
    first_may_start = first_may_start && admit_before(tick, rank);
    if (tick.budget == 0) return;
    if (may_have_row(tick, *sequence)) plan_row(tick, *sequence);
  }
}

/// What prompts may take beside the decodes so that the pass stays within its time. At least a page
/// per tick: a prefill cannot starve.
void Planner::limit_prefill(Tick& tick) const {
  if (options_.batching != Batching::chunked || !pass_model_.ready()) return;
  std::int64_t limit_ns = options_.max_pass_ns;
  if (options_.itl_target_ns > 0 && tick.tokens > 0) {
    limit_ns = std::min(limit_ns, options_.itl_target_ns);
  }
  std::uint32_t position = 0;
  for (const PlannedSequence* sequence : running_) {
    if (!may_have_row(tick, *sequence)) continue;
    position = sequence->next_position();
    break;
  }
  const std::uint32_t within =
      pass_model_.tokens_within(limit_ns, tick.tokens, tick.context, position, tick.budget);
  tick.budget = std::min(tick.budget, std::max(within, pool_.options().page_size));
}

void Planner::plan_row(Tick& tick, PlannedSequence& sequence) {
  const std::uint32_t position = sequence.next_position();
  const std::uint32_t num_tokens = sequence.next_num_tokens();
  std::uint32_t count = num_tokens - position;
  if (options_.batching == Batching::chunked) {
    count = std::min(count, tick.budget);
    if (options_.prefill_chunk > 0) count = std::min(count, options_.prefill_chunk);
  }
  const std::uint32_t end_position = position + count;
  const bool samples = end_position == num_tokens && num_tokens < sequence.view.max_tokens;
  if (samples && !may_sample(tick, sequence)) return;
  if (!grow(tick, sequence, end_position)) return;

  PlanRow row;
  row.first_position = position;
  row.num_tokens = count;
  if (sequence.num_sampling() > 0) row.source = RowSource::last_token_of;
  if (sequence.has_scores_to_give() && end_position > sequence.num_scored) {
    row.output = RowOutput::all_logprobs;
    row.num_outputs = end_position - std::max(row.first_position, sequence.num_scored);
  } else if (samples) {
    row.output = RowOutput::sample;
    row.num_outputs = 1;
  }
  sequence.flights.push_back(Flight{0, count, samples});
  sequence.last_planned = num_calls_;
  if (samples) ++sequence.request->in_flight;
  add_rows(tick, sequence, row);
}

/// Cuts a row at the borders of passes. Each piece gives those of the outputs that lie in it.
void Planner::add_rows(Tick& tick, PlannedSequence& sequence, PlanRow row) {
  const std::uint32_t end = row.first_position + row.num_tokens;
  const std::uint32_t outputs_from = end - row.num_outputs;
  const RowOutput output = row.output;
  row.id = sequence.view.id;
  row.slot = sequence.slot;
  tick.tokens += row.num_tokens;
  tick.context += context_of(row.first_position, row.num_tokens);
  // With chunks there is one pass, and the budget was looked at before.
  tick.budget -= std::min(tick.budget, row.num_tokens);
  while (row.first_position < end) {
    if (tick.slice_left == 0) {
      ++tick.slice;
      tick.slice_left = options_.max_num_batched_tokens;
    }
    row.slice = tick.slice;
    row.num_tokens = std::min(end - row.first_position, tick.slice_left);
    const std::uint32_t piece_end = row.first_position + row.num_tokens;
    row.num_outputs =
        piece_end > outputs_from ? piece_end - std::max(outputs_from, row.first_position) : 0;
    row.output = row.num_outputs > 0 ? output : RowOutput::none;
    tick.plan.rows.push_back(row);
    tick.owners.push_back(&sequence);
    tick.slice_left -= row.num_tokens;
    if (row.kind == RowKind::work) ++sequence.flights.back().num_rows;
    row.first_position = piece_end;
  }
}

/// Whether the window has room for one more token of this sequence. When it is too small for all
/// choices that run, those with the fewest tokens go first.
bool Planner::may_sample(Tick& tick, const PlannedSequence& sequence) {
  const PlannedRequest& request = *sequence.request;
  if (!request.has_credit()) return false;
  // Who starts was let in by what is left of the window.
  if (!tick.plan.opened.empty() && tick.plan.opened.back().id == sequence.view.id) return true;
  const std::uint64_t num_plans = under_way_.size() + 1;
  if (request.granted - request.emitted >= request.running.size() * num_plans) return true;
  const auto [place, is_new] = tick.served.try_emplace(sequence.first);
  std::vector<std::pair<std::uint32_t, SequenceId>>& served = place->second;
  if (is_new) {
    for (const SequenceId id : request.running) {
      const PlannedSequence& sibling = get(id);
      if (may_have_row(tick, sibling)) served.emplace_back(sibling.next_num_tokens(), id);
    }
    std::sort(served.begin(), served.end());
    const std::uint64_t left = request.granted - request.emitted - request.in_flight;
    if (served.size() > left) served.resize(left);
  }
  return std::any_of(served.begin(), served.end(),
                     [&](const auto& entry) { return entry.second == sequence.view.id; });
}

void Planner::finish(Tick& tick) {
  Plan& plan = tick.plan;
  tell_ends(plan);
  if (!plan.rows.empty()) {
    plan.closed = std::move(closed_slots_);
    closed_slots_.clear();
    plan.tables.offsets.reserve(plan.rows.size() + 1);
    plan.tables.offsets.push_back(0);
    for (GroupPlan& group : plan.windows) group.tables.offsets.push_back(0);
    for (const PlannedSequence* owner : tick.owners) {
      const std::span<const PageId> table = owner->table;
      plan.tables.pages.insert(plan.tables.pages.end(), table.begin(), table.end());
      plan.tables.offsets.push_back(static_cast<std::uint32_t>(plan.tables.pages.size()));
      windows_.add_tables(owner->view.id, plan);
    }
    ++tick_;
    count(tick);
  }
  plan.tick = tick_;
  plan.wake_at_ns = next_wake(tick.now_ns);
  name_idle_cause(tick);
  note_under_way(tick);
}

/// Not of those that are in flight: they may yet end by themselves.
void Planner::tell_ends(Plan& plan) {
  std::vector<PlanEnded> later;
  for (const PlanEnded& ended : ended_) {
    const PlannedSequence* const sequence = find(ended.id);
    (sequence != nullptr && sequence->in_flight() ? later : plan.ended).push_back(ended);
  }
  ended_ = std::move(later);
}

void Planner::name_idle_cause(Tick& tick) {
  if (tick.plan.has_work()) {
    tick.plan.idle_cause = tick.is_ahead ? IdleCause::planning : idle_cause_;
    idle_cause_ = IdleCause::planning;
  } else if (!tick.is_ahead) {
    idle_cause_ = IdleCause::no_work;
  } else if (options_.overlap) {
    idle_cause_ = wants_landing_        ? IdleCause::room
                  : tick.waits_for_host ? IdleCause::host_state
                                        : IdleCause::planning;
  }
}

void Planner::note_under_way(Tick& tick) {
  const Plan& plan = tick.plan;
  if (!plan.has_work()) return;
  UnderWay& under_way = tick.under_way;
  under_way.num_swaps =
      static_cast<std::uint32_t>(plan.count(&Plan::swap_out) + plan.count(&Plan::swap_in));
  if (tick.slice == 0) {  // Several passes are not what the model is about.
    under_way.tokens = tick.tokens;
    under_way.context = tick.context;
  }
  under_way_.push_back(std::move(under_way));
}

void Planner::count(const Tick& tick) {
  const std::uint32_t slots = batch_size_ > 0 ? batch_size_ : options_.max_num_seqs;
  counters_.slot_ticks += slots;
  SequenceId last = 0;
  bool is_first = true;
  std::uint64_t filler = 0;
  for (const PlanRow& row : tick.plan.rows) {
    if (row.kind == RowKind::padding) counters_.prompt_padding_tokens += row.num_tokens;
    if (row.kind == RowKind::finished) counters_.finished_row_tokens += row.num_tokens;
    if (row.kind != RowKind::work) {
      filler += row.num_tokens;
      continue;
    }
    // The pieces of a sequence stand together.
    if (is_first || row.id != last) ++counters_.useful_slot_ticks;
    is_first = false;
    last = row.id;
  }
  counters_.computed_tokens += tick.tokens - filler;
  if (tick.is_ahead) ++counters_.overlapped_ticks;
}

std::int64_t Planner::next_wake(std::int64_t now_ns) const {
  std::int64_t wake = deadlines_.empty() ? kNoDeadline : deadlines_.begin()->first;
  if (options_.is_static()) wake = std::min(wake, static_wake_ns());
  if (stalled_.empty()) return wake;
  if (options_.stall_timeout_ns != kNoDeadline) {
    wake = std::min(wake, stalled_.begin()->first + options_.stall_timeout_ns);
  }
  if (num_waiting() == 0) return wake;
  for (const PlannedSequence* sequence : running_) {
    // Whose grace ends makes room for those who wait.
    const SequenceView& view = sequence->view;
    const std::int64_t grace_ends = view.parked_since_ns + options_.park_grace_ns;
    if (view.parked && grace_ends > now_ns) wake = std::min(wake, grace_ends);
  }
  return wake;
}

}  // namespace tickertape::actors
