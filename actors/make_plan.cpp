// make_plan: the decision of one tick. Rules: docs/contracts.md, section "Scheduling".
#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

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
  /// Of requests whose window is too small for all their choices: those that sample in this tick,
  /// with their numbers of tokens.
  std::unordered_map<SequenceId, std::vector<std::pair<std::uint32_t, SequenceId>>> served;
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
  const bool samples = end_position == view.num_tokens && view.num_tokens < view.max_tokens;
  if (samples && !may_sample(tick, sequence)) return;
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
  } else if (samples) {
    row.output = RowOutput::sample;
    row.num_outputs = 1;
  }
  tick.budget -= count;
  sequence.in_flight = true;
  sequence.samples = samples;
  if (samples) ++request_of(sequence).in_flight;
  tick.plan.rows.push_back(row);
}

/// Whether the window has room for one more token of this sequence. When it is too small for all
/// choices that run, those with the fewest tokens go first.
bool Planner::may_sample(Tick& tick, const PlannedSequence& sequence) {
  const PlannedRequest& request = request_of(sequence);
  if (!request.has_credit()) return false;
  if (request.granted - request.emitted >= request.running.size()) return true;
  const auto [place, is_new] = tick.served.try_emplace(sequence.request);
  std::vector<std::pair<std::uint32_t, SequenceId>>& served = place->second;
  if (is_new) {
    for (const SequenceId id : request.running) {
      const PlannedSequence& sibling = get(id);
      if (!sibling.ending && !sibling.in_flight) served.emplace_back(sibling.view.num_tokens, id);
    }
    std::sort(served.begin(), served.end());
    const std::uint64_t left = request.granted - request.emitted - request.in_flight;
    if (served.size() > left) served.resize(left);
  }
  return std::any_of(served.begin(), served.end(),
                     [&](const auto& entry) { return entry.second == sequence.view.id; });
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
    land(sequence);
  }
  TICKERTAPE_ASSERT(!sequence.in_flight);
  leave_running(sequence);
  sequence.num_lost = sequence.view.num_computed;
  sequence.view.num_computed = 0;
  ++sequence.view.preemptions;
  ++preemptions_;
  insert_waiting(sequence);
  tick.plan.preempted.push_back(PlanPreempted{victim, Notice::How::recompute});
  tick.preempted = true;
  tick.views_fresh = false;
}

void Planner::admit_waiting(Tick& tick) {
  std::size_t index = 0;
  while (index < waiting_.size() && tick.budget > 0) {
    const SequenceId id = waiting_[index];
    const PlannedSequence& candidate = get(id);
    if (!request_of(candidate).has_credit() || waits_for_sibling(candidate)) {
      ++index;  // It waits for its reader or for its prompt, not for pages.
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
  SequenceView view = candidate.view;
  if (donor(candidate) != nullptr) {
    view.shareable = (view.prompt_tokens - 1) / pool_.options().page_size;
  }
  const PoolView pool = pool_view();
  return options_.admission->admit({view, tick.views, pool, forecast_, tick.now_ns}) &&
         pool_.pages_for(view.num_tokens) - view.shareable <= pool_.num_free();
}

/// Whether it may take the prompt's K and V from a sibling. One that still has to give the prompt's
/// log-probabilities computes it.
bool Planner::shares_prompt(const PlannedSequence& sequence) const {
  const SequenceView& view = sequence.view;
  const bool scores = sequence.scores_prompt && sequence.num_scored + 1 < view.prompt_tokens;
  return request_of(sequence).num_choices > 1 && view.prompt_tokens > 1 && !scores;
}

/// A sibling that has computed the prompt but its last token: that one everybody computes, to
/// sample what follows.
const PlannedSequence* Planner::donor(const PlannedSequence& candidate) const {
  if (!shares_prompt(candidate)) return nullptr;
  for (const SequenceId id : request_of(candidate).running) {
    const PlannedSequence& sibling = sequences_.at(id);
    if (sibling.view.num_computed + 1 >= candidate.view.prompt_tokens) return &sibling;
  }
  return nullptr;
}

/// A sibling computes the prompt right now: soon it can be shared.
bool Planner::waits_for_sibling(const PlannedSequence& candidate) const {
  if (!shares_prompt(candidate) || donor(candidate) != nullptr) return false;
  const auto& running = request_of(candidate).running;
  return std::any_of(running.begin(), running.end(),
                     [&](SequenceId id) { return !sequences_.at(id).ending; });
}

void Planner::share_prompt(Tick& tick, PlannedSequence& sequence) {
  const PlannedSequence* const sibling = donor(sequence);
  if (sibling == nullptr) return;
  const std::uint32_t num_shared = sequence.view.prompt_tokens - 1;
  pool_.fork(sibling->view.id, sequence.view.id, num_shared);
  if (num_shared % pool_.options().page_size != 0) {
    std::optional<PageCopy> copy;
    const bool has_own = pool_.make_writable(sequence.view.id, num_shared, copy);
    TICKERTAPE_ASSERT(has_own && copy);
    tick.plan.copies.push_back(*copy);
  }
  sequence.view.num_computed = num_shared;
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
  share_prompt(tick, sequence);
  if (sequence.num_lost > sequence.view.num_computed) {
    recomputed_tokens_ += sequence.num_lost - sequence.view.num_computed;
  }
  sequence.num_lost = 0;
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
  auto& siblings = request_of(sequence).running;
  siblings.insert(std::lower_bound(siblings.begin(), siblings.end(), id), id);
  tick.views_fresh = false;
  tick.plan.opened.push_back(PlanOpened{id, sequence.slot, sequence.view.preemptions > 0});
  plan_row(tick, sequence);
}

void Planner::fail_hopeless(Tick& tick) {
  if (!running_.empty() || pool_.num_free() != pool_.options().num_pages) return;
  for (const SequenceId id : waiting_) {
    const PlannedSequence& sequence = get(id);
    if (!request_of(sequence).has_credit()) continue;
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
