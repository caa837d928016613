// make_plan: the decision of one tick. Rules: docs/contracts.md, section "Scheduling".
#include <algorithm>

#include <tickertape/assert.hpp>

#include "actors/planner.hpp"

namespace tickertape::actors {

/// What is decided so far in this tick.
struct Planner::Tick {
  Plan plan;
  std::int64_t now_ns = 0;
  std::uint32_t budget = 0;  ///< Tokens that may still be given to rows.
  bool preempted = false;
  std::vector<SequenceView> views;  ///< Of the running sequences, for the policies.
  bool views_fresh = false;
};

Plan Planner::make_plan(std::int64_t now_ns) {
  Tick tick;
  tick.now_ns = now_ns;
  tick.budget = options_.max_num_batched_tokens;
  expire(now_ns);
  update_parking(now_ns);
  plan_running(tick, /*decodes=*/true);
  plan_running(tick, /*decodes=*/false);
  if (!tick.preempted) admit_waiting(tick);
  fail_hopeless(tick);
  finish(tick);
  return std::move(tick.plan);
}

void Planner::plan_running(Tick& tick, bool decodes) {
  const std::vector<SequenceId> ids = running_;  // Preemption changes running_.
  for (const SequenceId id : ids) {
    if (tick.budget == 0) return;
    const auto found = sequences_.find(id);
    if (found == sequences_.end()) continue;
    PlannedSequence& sequence = found->second;
    if (!sequence.running || sequence.in_flight || sequence.ending || sequence.view.parked)
      continue;
    const SequenceView& view = sequence.view;
    const bool is_decode =
        view.num_tokens > view.prompt_tokens && view.num_tokens - view.num_computed == 1;
    if (is_decode == decodes) plan_row(tick, sequence);
  }
}

void Planner::plan_row(Tick& tick, PlannedSequence& sequence) {
  const SequenceView& view = sequence.view;
  std::uint32_t count = std::min(view.num_tokens - view.num_computed, tick.budget);
  if (options_.prefill_chunk > 0) count = std::min(count, options_.prefill_chunk);
  const std::uint32_t end_position = view.num_computed + count;
  if (!grow(tick, view.id, end_position)) return;

  PlanRow row;
  row.id = view.id;
  row.slot = sequence.slot;
  row.first_position = view.num_computed;
  row.num_tokens = count;
  if (sequence.scores_prompt && sequence.num_scored + 1 < view.prompt_tokens &&
      end_position > sequence.num_scored) {
    row.output = RowOutput::all_logprobs;
    row.num_outputs = end_position - std::max(row.first_position, sequence.num_scored);
  } else if (end_position == view.num_tokens && view.num_tokens < view.max_tokens) {
    row.output = RowOutput::sample;
    row.num_outputs = 1;
  }
  tick.budget -= count;
  sequence.in_flight = true;
  tick.plan.rows.push_back(row);
}

bool Planner::grow(Tick& tick, SequenceId id, std::uint32_t num_tokens) {
  while (!pool_.grow(id, num_tokens)) {
    if (!make_room(tick, id)) return false;
  }
  get(id).view.pages = static_cast<std::uint32_t>(pool_.pages(id).size());
  tick.views_fresh = false;
  return true;
}

bool Planner::make_room(Tick& tick, SequenceId grower) {
  refresh_views(tick);
  const auto place = std::find(running_.begin(), running_.end(), grower);
  const auto index = static_cast<std::size_t>(place - running_.begin());
  const auto victim = options_.preemption->choose(tick.views, index, oldest_runnable(),
                                                  options_.park_grace_ns, tick.now_ns);
  if (!victim) {
    // Alone, and the pool is not enough: what it has so far is its answer.
    if (running_.size() == 1) end(grower, FinishReason::length);
    return false;
  }
  const SequenceId id = running_.at(*victim);
  preempt(tick, id);
  return id != grower;
}

std::size_t Planner::oldest_runnable() const {
  for (std::size_t i = 0; i < running_.size(); ++i) {
    const PlannedSequence& sequence = sequences_.at(running_[i]);
    if (!sequence.view.parked && !sequence.ending) return i;
  }
  return running_.size();
}

void Planner::preempt(Tick& tick, SequenceId victim) {
  PlannedSequence& sequence = get(victim);
  auto& rows = tick.plan.rows;
  const auto row = std::find_if(rows.begin(), rows.end(),
                                [&](const PlanRow& planned) { return planned.id == victim; });
  if (row != rows.end()) {
    tick.budget += row->num_tokens;
    rows.erase(row);
    sequence.in_flight = false;
  }
  TICKERTAPE_ASSERT(!sequence.in_flight);
  leave_running(sequence);
  recomputed_tokens_ += sequence.view.num_computed;
  sequence.view.num_computed = 0;
  ++sequence.view.preemptions;
  ++preemptions_;
  insert_waiting(sequence, tick.now_ns);
  tick.plan.preempted.push_back(PlanPreempted{victim, Notice::How::recompute});
  tick.preempted = true;
  tick.views_fresh = false;
}

void Planner::admit_waiting(Tick& tick) {
  std::size_t index = 0;
  while (index < waiting_.size() && tick.budget > 0) {
    const SequenceId id = waiting_[index];
    const PlannedSequence& candidate = get(id);
    if (candidate.granted <= candidate.emitted) {
      ++index;  // Preempted while out of credit: it waits for its reader, not for pages.
      continue;
    }
    bool made_room = false;
    while (!fits(tick, candidate)) {
      // Nothing else is admitted in a tick that preempted: so not after others were, either.
      if (!tick.plan.opened.empty() || !evict_parked(tick)) return;
      made_room = true;
    }
    admit(tick, id);
    if (made_room) return;
    index = std::min(index, waiting_.size());
  }
}

bool Planner::fits(Tick& tick, const PlannedSequence& candidate) const {
  if (free_slots_.empty()) return false;
  refresh_views(tick);
  return options_.admission->admit(candidate.view, tick.views, pool_view(), tick.now_ns) &&
         pool_.pages_for(candidate.view.num_tokens) <= pool_.num_free();
}

bool Planner::evict_parked(Tick& tick) {
  // Youngest first among those beyond their grace.
  for (auto id = running_.rbegin(); id != running_.rend(); ++id) {
    const PlannedSequence& sequence = get(*id);
    if (!sequence.view.parked || sequence.in_flight || sequence.ending) continue;
    if (tick.now_ns - sequence.view.parked_since_ns < options_.park_grace_ns) continue;
    preempt(tick, *id);
    return true;
  }
  return false;
}

void Planner::admit(Tick& tick, SequenceId id) {
  PlannedSequence& sequence = get(id);
  erase_waiting(id);
  // All known tokens at once: a prefill under way never has to wait for pages.
  const bool grown = pool_.grow(id, sequence.view.num_tokens);
  TICKERTAPE_ASSERT(grown);
  sequence.view.pages = static_cast<std::uint32_t>(pool_.pages(id).size());
  sequence.running = true;
  sequence.slot = *free_slots_.begin();
  free_slots_.erase(free_slots_.begin());
  const auto place = std::upper_bound(
      running_.begin(), running_.end(), sequence.view.arrival,
      [&](std::uint64_t arrival, SequenceId other) { return arrival < get(other).view.arrival; });
  running_.insert(place, id);
  tick.views_fresh = false;
  tick.plan.opened.push_back(PlanOpened{id, sequence.slot, sequence.view.preemptions > 0});
  plan_row(tick, sequence);
}

void Planner::fail_hopeless(Tick& tick) {
  if (!running_.empty() || pool_.num_free() != pool_.options().num_pages) return;
  for (const SequenceId id : waiting_) {
    const PlannedSequence& sequence = get(id);
    if (sequence.granted <= sequence.emitted) continue;
    if (!fits(tick, sequence)) end(id, FinishReason::error);
    return;  // The oldest alone; the next tick looks again.
  }
}

void Planner::refresh_views(Tick& tick) const {
  if (tick.views_fresh) return;
  tick.views.clear();
  for (const SequenceId id : running_) tick.views.push_back(sequences_.at(id).view);
  tick.views_fresh = true;
}

void Planner::finish(Tick& tick) {
  Plan& plan = tick.plan;
  plan.ended = std::move(ended_);
  ended_.clear();
  if (!plan.rows.empty()) {
    plan.closed = std::move(closed_slots_);
    closed_slots_.clear();
    plan.tables.offsets.push_back(0);
    for (const PlanRow& row : plan.rows) {
      const auto pages = pool_.pages(row.id);
      plan.tables.pages.insert(plan.tables.pages.end(), pages.begin(), pages.end());
      plan.tables.offsets.push_back(static_cast<std::uint32_t>(plan.tables.pages.size()));
    }
    ++tick_;
  }
  plan.tick = tick_;
  plan.wake_at_ns = next_wake(tick.now_ns);
}

}  // namespace tickertape::actors
