// make_room: pages for those that grow, taken from those that can spare them.
#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include <tickertape/assert.hpp>

#include "actors/tick.hpp"

namespace tickertape::actors {

bool Planner::grow(Tick& tick, PlannedSequence& sequence, std::uint32_t num_tokens) {
  if (pool_.pages_for(num_tokens) > sequence.view.pages) {
    while (!pool_.grow(sequence.view.id, num_tokens)) {
      if (!make_room(tick, sequence)) return false;
    }
    refresh_table(sequence);
    tick.views_fresh = false;
  }
  windows_.grow(sequence.view.id, num_tokens);
  return true;
}

/// False when the row of `grower` is not for this tick.
bool Planner::make_room(Tick& tick, PlannedSequence& grower) {
  if (tick.is_ahead) {
    wants_landing_ = true;
    return false;
  }
  refresh_views(tick);
  const auto place = std::find(running_.begin(), running_.end(), &grower);
  const auto index = static_cast<std::size_t>(place - running_.begin());
  const std::size_t oldest = oldest_runnable();
  const auto chosen =
      options_.preemption->choose(tick.views, index, oldest, options_.park_grace_ns, tick.now_ns);
  if (!chosen) {
    // Alone, and the pool is not enough: what it has so far is its answer.
    if (running_.size() == 1) end(grower, FinishReason::length);
    return false;
  }
  PlannedSequence& victim = *running_.at(*chosen);
  if (index != oldest && better_waits(victim)) {
    ++counters_.waits;
    return false;
  }
  const auto& opened = tick.plan.opened;
  if (std::any_of(opened.begin(), opened.end(),
                  [&](const PlanOpened& entry) { return entry.id == victim.view.id; })) {
    return false;  // Room was just made for that one: this row waits a tick.
  }
  if (victim.in_flight()) take_back_row(tick, victim);
  preempt(tick, victim);
  return &victim != &grower;
}

/// Takes what was planned for it in this tick out of the plan again.
void Planner::take_back_row(Tick& tick, PlannedSequence& sequence) {
  auto& rows = tick.plan.rows;
  for (std::size_t i = rows.size(); i > 0; --i) {
    const PlanRow& row = rows[i - 1];
    if (row.id != sequence.view.id) continue;
    tick.tokens -= row.num_tokens;
    tick.context -= context_of(row.first_position, row.num_tokens);
    tick.budget += row.num_tokens;
    if (row.slice == tick.slice) tick.slice_left += row.num_tokens;
    rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(i - 1));
    tick.owners.erase(tick.owners.begin() + static_cast<std::ptrdiff_t>(i - 1));
  }
  land(sequence, sequence.flights.size() - 1);
  sequence.last_planned = 0;
}

/// Somebody ends for certain, without another page, before preempting this victim pays off. The
/// oldest runnable one never waits, so somebody always goes on.
bool Planner::better_waits(const PlannedSequence& victim) const {
  if (options_.preemption_method != PreemptionMethod::automatic || !pass_model_.ready()) {
    return false;
  }
  std::uint32_t soonest = std::numeric_limits<std::uint32_t>::max();
  for (const PlannedSequence* sequence : running_) {
    const SequenceView& view = sequence->view;
    const bool is_certain = !view.parked && !sequence->ending && sequence->request->is_open() &&
                            pool_.pages_for(view.max_tokens) <= view.pages;
    if (is_certain) soonest = std::min(soonest, view.max_tokens - view.num_computed);
  }
  if (soonest == std::numeric_limits<std::uint32_t>::max()) return false;
  return std::int64_t{soonest} * last_pass_ns_ < recompute_cost_ns(victim);
}

/// Of the highest class, the one that came first and can run; running_.size() if there is none.
std::size_t Planner::oldest_runnable() const {
  std::size_t best = running_.size();
  std::int32_t best_class = 0;
  for (std::size_t i = 0; i < running_.size(); ++i) {
    const PlannedSequence& sequence = *running_[i];
    if (sequence.view.parked || sequence.ending) continue;
    const std::int32_t its_class = options_.order->preemption_class(sequence.view);
    if (best == running_.size() || its_class < best_class) {
      best = i;
      best_class = its_class;
    }
  }
  return best;
}

void Planner::preempt(Tick& tick, PlannedSequence& victim) {
  TICKERTAPE_ASSERT(victim.running && !victim.in_flight());
  const Notice::How how = method_for(tick, victim);
  if (how == Notice::How::swap) {
    swap_out(tick, victim);
    ++counters_.swap_preemptions;
  } else {
    victim.num_lost = victim.view.num_computed;
    ++counters_.recompute_preemptions;
  }
  leave_running(victim);
  victim.view.num_computed = 0;
  ++victim.view.preemptions;
  if (victim.request->is_open()) join_line(victim);
  tick.plan.preempted.push_back(PlanPreempted{victim.view.id, how, victim.swapped.num_pages()});
  tick.preempted = true;
  tick.views_fresh = false;
}

/// Computing its tokens again, about. The last pass gives a token, as one is run to give it anyway.
std::int64_t Planner::recompute_cost_ns(const PlannedSequence& victim) const {
  const std::int64_t prefill_ns = prefill_cost_ns(victim, victim.view.num_computed);
  const std::int64_t token_ns = running_.size() > 1 ? 0 : pass_model_.estimate_ns(1, 0);
  return std::max<std::int64_t>(prefill_ns - token_ns, 0);
}

/// Passes are run anyway for the others that run, if there are any.
std::int64_t Planner::prefill_cost_ns(const PlannedSequence& sequence,
                                      std::uint32_t num_tokens) const {
  const std::size_t num_others = running_.size() - (sequence.running ? 1 : 0);
  const std::uint32_t chunk = options_.max_num_batched_tokens;
  return pass_model_.prefill_ns(
      num_tokens, num_others > 0 ? 0 : num_tokens / chunk + (num_tokens % chunk != 0));
}

Notice::How Planner::method_for(const Tick& tick, const PlannedSequence& victim) const {
  const std::uint32_t num_pages = num_to_swap(victim);
  if (options_.preemption_method == PreemptionMethod::recompute || num_pages == 0 ||
      num_pages > host_.num_free() || !windows_.has_host_room(victim.view.num_computed)) {
    return Notice::How::recompute;
  }
  if (options_.preemption_method == PreemptionMethod::swap) return Notice::How::swap;
  if (swap_ns_per_page_ == 0) return Notice::How::swap;  // The first one measures what it costs.
  if (!pass_model_.ready()) return Notice::How::recompute;
  // There and back, behind what this tick moves already: the link is shared.
  const std::int64_t num_moves =
      std::int64_t{2} * (num_pages + windows_.num_to_swap(victim.view.num_computed)) +
      static_cast<std::int64_t>(tick.plan.count(&Plan::swap_out));
  const std::int64_t swap_cost_ns = num_moves * swap_ns_per_page_;
  return swap_cost_ns < recompute_cost_ns(victim) ? Notice::How::swap : Notice::How::recompute;
}

/// Its first pages that others hold too, and that can be found again by their names.
std::uint32_t Planner::num_found_by_name(const PlannedSequence& sequence) const {
  std::uint32_t count = 0;
  while (count < sequence.num_named && pool_.references(sequence.table[count]) > 1 &&
         pool_.name_of(sequence.table[count]) == sequence.names[count]) {
    ++count;
  }
  return count;
}

/// Its other pages with computed tokens, of the first layer group.
std::uint32_t Planner::num_to_swap(const PlannedSequence& victim) const {
  const std::uint32_t num_used = pool_.pages_for(victim.view.num_computed);
  return num_used - std::min(num_used, num_found_by_name(victim));
}

void Planner::swap_out(Tick& tick, PlannedSequence& victim) {
  const std::uint32_t first = num_found_by_name(victim);
  const std::uint32_t count = num_to_swap(victim);
  victim.swapped.pages = host_.take(count);
  victim.swapped.first_index = first;
  victim.swapped.num_computed = victim.view.num_computed;
  for (std::uint32_t i = 0; i < count; ++i) {
    tick.plan.swap_out.push_back(PageCopy{victim.table[first + i], victim.swapped.pages[i]});
  }
  windows_.swap_out(victim.view.id, victim.swapped, tick.plan);
  counters_.pages_swapped_out += victim.swapped.num_pages();
  ++victim.num_moves;
  tick.under_way.swapped.push_back(victim.view.id);
}

/// Pages that become available when it gives up its own. Those that the candidate looks for by name
/// would be the candidate's.
std::uint32_t Planner::pages_freed_by(const PlannedSequence& victim,
                                      const PlannedSequence& candidate) const {
  const std::span<const PageName> wanted = wanted_names(candidate);
  const auto is_free = [&](PageId page) {
    const PageName name = pool_.name_of(page);
    return pool_.references(page) == 1 &&
           (name == 0 || std::find(wanted.begin(), wanted.end(), name) == wanted.end());
  };
  return static_cast<std::uint32_t>(
      std::count_if(victim.table.begin(), victim.table.end(), is_free));
}

bool Planner::evict_parked(Tick& tick) {
  // Youngest first among those beyond their grace.
  for (auto place = running_.rbegin(); place != running_.rend(); ++place) {
    PlannedSequence& sequence = **place;
    if (!sequence.view.parked || sequence.ending) continue;
    if (tick.now_ns - sequence.view.parked_since_ns < options_.park_grace_ns) continue;
    if (tick.is_ahead) {
      wants_landing_ = true;
      return false;
    }
    if (sequence.in_flight()) continue;
    preempt(tick, sequence);
    return true;
  }
  return false;
}

}  // namespace tickertape::actors
