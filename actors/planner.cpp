// Planner: the state between ticks, and everything that changes it but the plan itself.
#include "actors/planner.hpp"

#include <algorithm>

#include <tickertape/assert.hpp>

#include "actors/policies.hpp"

namespace tickertape::actors {

Planner::Planner(PlannerOptions options) : options_(std::move(options)), pool_(options_.pool) {
  if (!options_.admission) options_.admission = prompt_only_admission();
  if (!options_.preemption) options_.preemption = youngest_first_preemption();
  if (!options_.order) options_.order = first_come_order();
  TICKERTAPE_ASSERT(options_.max_num_seqs > 0);
  TICKERTAPE_ASSERT(options_.max_num_batched_tokens >= options_.max_num_seqs);
  for (SlotId slot = 0; slot < options_.max_num_seqs; ++slot) free_slots_.insert(slot);
}

void Planner::add(const NewSequence& wanted, std::int64_t now_ns) {
  TICKERTAPE_ASSERT(wanted.prompt_tokens > 0);
  TICKERTAPE_ASSERT(wanted.max_tokens >= wanted.prompt_tokens);
  PlannedSequence sequence;
  sequence.view.id = wanted.id;
  sequence.view.arrival = next_arrival_++;
  sequence.view.priority = wanted.priority;
  sequence.view.client = wanted.client;
  sequence.view.prompt_tokens = wanted.prompt_tokens;
  sequence.view.num_tokens = wanted.prompt_tokens;
  sequence.view.max_tokens = wanted.max_tokens;
  sequence.view.deadline_ns = wanted.deadline_ns;
  sequence.scores_prompt = wanted.scores_prompt;
  sequence.granted = wanted.granted;
  const auto [place, is_new] = sequences_.emplace(wanted.id, sequence);
  TICKERTAPE_ASSERT(is_new);
  if (wanted.deadline_ns != kNoDeadline) deadlines_.emplace(wanted.deadline_ns, wanted.id);
  insert_waiting(place->second, now_ns);
}

void Planner::commit(const Demand& demand) {
  for (const RowDone& done : demand.done) {
    PlannedSequence& sequence = get(done.id);
    TICKERTAPE_ASSERT(sequence.in_flight);
    sequence.in_flight = false;
    sequence.view.num_computed += done.num_computed;
    sequence.view.num_tokens += done.num_emitted;
    sequence.emitted += done.num_emitted;
    sequence.num_scored += done.num_scored;
    TICKERTAPE_ASSERT(sequence.view.num_computed <= sequence.view.num_tokens);
    TICKERTAPE_ASSERT(sequence.view.num_tokens <= sequence.view.max_tokens);
    if (done.ended && sequence.ending) {
      // It ended by itself in the same pass: that end was delivered already.
      std::erase_if(ended_, [&](const PlanEnded& ended) { return ended.id == done.id; });
    }
    if (done.ended || sequence.ending) forget(done.id);
  }
}

void Planner::apply(const ReaderEvent& event) {
  const auto found = sequences_.find(event.id);
  if (found == sequences_.end() || found->second.ending) return;
  PlannedSequence& sequence = found->second;
  sequence.granted = std::max(sequence.granted, event.granted);
  if (event.cancelled) {
    end(event.id, FinishReason::cancelled);
  } else if (sequence.granted > sequence.emitted) {
    unpark(sequence);
  }
}

void Planner::end_all(FinishReason reason) {
  std::vector<SequenceId> all;
  all.reserve(sequences_.size());
  for (const auto& [id, sequence] : sequences_) {
    if (!sequence.ending) all.push_back(id);
  }
  std::sort(all.begin(), all.end());
  for (const SequenceId id : all) end(id, reason);
}

const PlannedSequence* Planner::find(SequenceId id) const {
  const auto found = sequences_.find(id);
  return found == sequences_.end() ? nullptr : &found->second;
}

void Planner::end(SequenceId id, FinishReason reason) {
  PlannedSequence& sequence = get(id);
  TICKERTAPE_ASSERT(!sequence.ending);
  ended_.push_back(PlanEnded{id, reason});
  if (sequence.in_flight) {
    sequence.ending = true;  // The pass still writes its pages.
  } else {
    forget(id);
  }
}

void Planner::forget(SequenceId id) {
  PlannedSequence& sequence = get(id);
  unpark(sequence);
  if (sequence.running) {
    leave_running(sequence);
  } else {
    erase_waiting(id);
  }
  if (sequence.view.deadline_ns != kNoDeadline) deadlines_.erase({sequence.view.deadline_ns, id});
  sequences_.erase(id);
}

void Planner::leave_running(PlannedSequence& sequence) {
  pool_.release(sequence.view.id);
  sequence.view.pages = 0;
  sequence.running = false;
  free_slots_.insert(sequence.slot);
  closed_slots_.push_back(sequence.slot);
  std::erase(running_, sequence.view.id);
}

void Planner::insert_waiting(const PlannedSequence& sequence, std::int64_t now_ns) {
  const auto place = std::upper_bound(
      waiting_.begin(), waiting_.end(), sequence.view, [&](const SequenceView& a, SequenceId b) {
        return options_.order->before(a, sequences_.at(b).view, now_ns);
      });
  waiting_.insert(place, sequence.view.id);
}

void Planner::erase_waiting(SequenceId id) {
  const auto place = std::find(waiting_.begin(), waiting_.end(), id);
  TICKERTAPE_ASSERT(place != waiting_.end());
  waiting_.erase(place);
}

void Planner::expire(std::int64_t now_ns) {
  while (!deadlines_.empty() && deadlines_.begin()->first <= now_ns) {
    const auto [deadline, id] = *deadlines_.begin();
    if (get(id).ending) {
      deadlines_.erase(deadlines_.begin());
      get(id).view.deadline_ns = kNoDeadline;
    } else {
      end(id, FinishReason::deadline);
      if (PlannedSequence* left = sequences_.contains(id) ? &get(id) : nullptr) {
        deadlines_.erase({deadline, id});
        left->view.deadline_ns = kNoDeadline;
      }
    }
  }
  if (options_.stall_timeout_ns == kNoDeadline) return;
  while (!stalled_.empty() && now_ns - stalled_.begin()->first >= options_.stall_timeout_ns) {
    const SequenceId id = stalled_.begin()->second;
    unpark(get(id));
    end(id, FinishReason::stalled);
  }
}

void Planner::update_parking(std::int64_t now_ns) {
  for (const SequenceId id : running_) {
    PlannedSequence& sequence = get(id);
    if (sequence.ending || sequence.view.parked || sequence.granted > sequence.emitted) continue;
    sequence.view.parked = true;
    sequence.view.parked_since_ns = now_ns;
    stalled_.emplace(now_ns, id);
  }
}

void Planner::unpark(PlannedSequence& sequence) {
  if (!sequence.view.parked) return;
  stalled_.erase({sequence.view.parked_since_ns, sequence.view.id});
  sequence.view.parked = false;
}

std::int64_t Planner::next_wake(std::int64_t now_ns) const {
  std::int64_t wake = deadlines_.empty() ? kNoDeadline : deadlines_.begin()->first;
  if (stalled_.empty()) return wake;
  if (options_.stall_timeout_ns != kNoDeadline) {
    wake = std::min(wake, stalled_.begin()->first + options_.stall_timeout_ns);
  }
  if (waiting_.empty()) return wake;
  for (const SequenceId id : running_) {  // Whose grace ends makes room for those who wait.
    const SequenceView& view = sequences_.at(id).view;
    const std::int64_t grace_ends = view.parked_since_ns + options_.park_grace_ns;
    if (view.parked && grace_ends > now_ns) wake = std::min(wake, grace_ends);
  }
  return wake;
}

PoolView Planner::pool_view() const {
  return PoolView{pool_.options().num_pages, pool_.num_free(), pool_.options().page_size};
}

void Planner::fill(EngineStats& stats) const {
  stats.num_running = running_.size();
  stats.num_waiting = waiting_.size();
  stats.num_parked = 0;
  stats.held_tokens = 0;
  for (const SequenceId id : running_) {
    const SequenceView& view = sequences_.at(id).view;
    stats.num_parked += view.parked ? 1 : 0;
    stats.held_tokens += view.num_computed;
  }
  stats.pages_total = pool_.options().num_pages;
  stats.pages_free = pool_.num_free();
  stats.pages_cached = pool_.num_cached();
  stats.pages_held = pool_.num_held();
  stats.held_places = std::uint64_t{pool_.num_held()} * pool_.options().page_size;
  stats.ticks = tick_;
  stats.preemptions = preemptions_;
  stats.recomputed_tokens = recomputed_tokens_;
}

void Planner::check() const {
  pool_.check();
  TICKERTAPE_ASSERT(running_.size() + waiting_.size() == sequences_.size());
  TICKERTAPE_ASSERT(running_.size() + free_slots_.size() == options_.max_num_seqs);
  std::set<SlotId> slots(free_slots_);
  std::size_t owners = 0;
  for (const auto& [id, sequence] : sequences_) {
    const auto pages = pool_.pages(id);
    owners += pages.empty() ? 0 : 1;
    TICKERTAPE_ASSERT(sequence.view.pages == pages.size());
    TICKERTAPE_ASSERT(sequence.view.num_computed <= pages.size() * pool_.options().page_size);
    TICKERTAPE_ASSERT(sequence.running || (pages.empty() && sequence.view.num_computed == 0));
    if (sequence.running) TICKERTAPE_ASSERT(slots.insert(sequence.slot).second);
    const bool stalled = stalled_.contains({sequence.view.parked_since_ns, id});
    TICKERTAPE_ASSERT(stalled == sequence.view.parked);
  }
  TICKERTAPE_ASSERT(owners == pool_.num_owners());
  for (std::size_t i = 1; i < running_.size(); ++i) {
    TICKERTAPE_ASSERT(sequences_.at(running_[i - 1]).view.arrival <
                      sequences_.at(running_[i]).view.arrival);
  }
}

}  // namespace tickertape::actors
