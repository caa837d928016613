// Planner: the state between ticks, and everything that changes it but the plan itself.
#include "actors/planner.hpp"

#include <algorithm>
#include <unordered_set>

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

void Planner::add(const NewRequest& wanted, std::int64_t now_ns) {
  TICKERTAPE_ASSERT(wanted.prompt_tokens > 0 && wanted.num_choices > 0);
  TICKERTAPE_ASSERT(wanted.max_tokens >= wanted.prompt_tokens);
  PlannedRequest request;
  request.num_choices = wanted.num_choices;
  request.num_left = wanted.num_choices;
  request.granted = wanted.granted;
  const bool is_new = requests_.emplace(wanted.id, std::move(request)).second;
  TICKERTAPE_ASSERT(is_new);
  for (std::uint32_t choice = 0; choice < wanted.num_choices; ++choice) {
    add_choice(wanted, choice, now_ns);
  }
}

void Planner::add_choice(const NewRequest& wanted, std::uint32_t choice, std::int64_t now_ns) {
  const SequenceId id = wanted.id + choice;
  PlannedSequence sequence;
  sequence.request = wanted.id;
  sequence.view.id = id;
  sequence.view.arrival = next_arrival_++;
  sequence.view.arrival_ns = now_ns;
  sequence.view.priority = wanted.priority;
  sequence.view.client = wanted.client;
  sequence.view.prompt_tokens = wanted.prompt_tokens;
  sequence.view.num_tokens = wanted.prompt_tokens;
  sequence.view.max_tokens = wanted.max_tokens;
  sequence.view.deadline_ns = wanted.deadline_ns;
  sequence.scores_prompt = wanted.scores_prompt && choice == 0;
  const auto [place, is_new] = sequences_.emplace(id, sequence);
  TICKERTAPE_ASSERT(is_new);
  if (wanted.deadline_ns != kNoDeadline) deadlines_.emplace(wanted.deadline_ns, id);
  insert_waiting(place->second);
}

void Planner::commit(const Demand& demand) {
  for (const RowDone& done : demand.done) {
    PlannedSequence& sequence = get(done.id);
    TICKERTAPE_ASSERT(sequence.in_flight);
    land(sequence);
    sequence.view.num_computed += done.num_computed;
    sequence.view.num_tokens += done.num_emitted;
    PlannedRequest& request = request_of(sequence);
    request.emitted += done.num_emitted;
    if (request.granted <= request.emitted) exhausted_.push_back(sequence.request);
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

/// The row of the pass is done, or was taken out of the plan.
void Planner::land(PlannedSequence& sequence) {
  if (sequence.samples) --request_of(sequence).in_flight;
  sequence.in_flight = false;
  sequence.samples = false;
}

void Planner::apply(const ReaderEvent& event) {
  const auto found = requests_.find(event.id);
  if (found == requests_.end()) return;
  found->second.granted = std::max(found->second.granted, event.granted);
  const bool has_credit = found->second.granted > found->second.emitted;
  const std::uint32_t num_choices = found->second.num_choices;  // The last end forgets the request.
  for (std::uint32_t choice = 0; choice < num_choices; ++choice) {
    const auto sequence = sequences_.find(event.id + choice);
    if (sequence == sequences_.end() || sequence->second.ending) continue;
    const auto& stopped = event.stopped;
    if (event.cancelled) {
      end(event.id + choice, FinishReason::cancelled);
    } else if (std::find(stopped.begin(), stopped.end(), choice) != stopped.end()) {
      end(event.id + choice, FinishReason::stop);
    } else if (has_credit) {
      unpark(sequence->second);
    }
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

const PlannedRequest* Planner::find_request(SequenceId id) const {
  const auto found = requests_.find(id);
  return found == requests_.end() ? nullptr : &found->second;
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
  if (--request_of(sequence).num_left == 0) requests_.erase(sequence.request);
  sequences_.erase(id);
}

void Planner::leave_running(PlannedSequence& sequence) {
  pool_.release(sequence.view.id);
  sequence.view.pages = 0;
  sequence.running = false;
  free_slots_.insert(sequence.slot);
  closed_slots_.push_back(sequence.slot);
  std::erase(running_, sequence.view.id);
  std::erase(request_of(sequence).running, sequence.view.id);
}

void Planner::insert_waiting(const PlannedSequence& sequence) {
  const auto place_of = [&](const SequenceView& view) {
    return std::pair(options_.order->rank(view), view.arrival);
  };
  const auto place = std::upper_bound(
      waiting_.begin(), waiting_.end(), sequence.view, [&](const SequenceView& a, SequenceId b) {
        return place_of(a) < place_of(sequences_.at(b).view);
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

/// A window that is used up parks all choices, also those that wait: their reader may have stalled.
void Planner::update_parking(std::int64_t now_ns) {
  for (const SequenceId first : exhausted_) {
    const auto request = requests_.find(first);
    if (request == requests_.end() || request->second.granted > request->second.emitted) continue;
    for (SequenceId id = first; id < first + request->second.num_choices; ++id) {
      const auto found = sequences_.find(id);
      if (found == sequences_.end() || found->second.ending || found->second.view.parked) continue;
      found->second.view.parked = true;
      found->second.view.parked_since_ns = now_ns;
      stalled_.emplace(now_ns, id);
    }
  }
  exhausted_.clear();
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
  PoolView view;
  view.num_pages = pool_.options().num_pages;
  view.num_free = pool_.num_free();
  view.page_size = pool_.options().page_size;
  return view;
}

void Planner::fill(EngineStats& stats) const {
  stats.num_running = running_.size();
  stats.num_waiting = waiting_.size();
  stats.num_parked = 0;
  for (const SequenceId id : running_) stats.num_parked += sequences_.at(id).view.parked ? 1 : 0;
  stats.held_tokens = count_held_tokens();
  stats.pages_total = pool_.options().num_pages;
  stats.pages_free = pool_.num_free();
  stats.pages_cached = pool_.num_cached();
  stats.pages_held = pool_.num_held();
  stats.held_places = std::uint64_t{pool_.num_held()} * pool_.options().page_size;
  stats.ticks = tick_;
  stats.preemptions = preemptions_;
  stats.recomputed_tokens = recomputed_tokens_;
}

/// A page that several choices share is counted once.
std::uint64_t Planner::count_held_tokens() const {
  const std::uint32_t page_size = pool_.options().page_size;
  std::unordered_set<PageId> seen;
  std::uint64_t sum = 0;
  for (const SequenceId id : running_) {
    const PlannedSequence& sequence = sequences_.at(id);
    const std::uint32_t num_computed = sequence.view.num_computed;
    if (request_of(sequence).num_choices == 1) {
      sum += num_computed;
      continue;
    }
    std::uint32_t first = 0;
    for (const PageId page : pool_.pages(id)) {
      const bool counts = pool_.references(page) == 1 || seen.insert(page).second;
      if (counts && num_computed > first) sum += std::min(num_computed - first, page_size);
      first += page_size;
    }
  }
  return sum;
}

void Planner::check() const {
  pool_.check();
  check_requests();
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
  for (const SequenceId id : running_) {
    // What is written next is the writer's own page.
    const PlannedSequence& sequence = sequences_.at(id);
    const std::uint32_t page = sequence.view.num_computed / pool_.options().page_size;
    const auto pages = pool_.pages(id);
    TICKERTAPE_ASSERT(page >= pages.size() || pool_.references(pages[page]) == 1);
  }
  for (std::size_t i = 1; i < running_.size(); ++i) {
    TICKERTAPE_ASSERT(sequences_.at(running_[i - 1]).view.arrival <
                      sequences_.at(running_[i]).view.arrival);
  }
}

void Planner::check_requests() const {
  std::size_t num_left = 0;
  std::size_t num_running = 0;
  for (const auto& [first, request] : requests_) {
    std::uint32_t left = 0;
    std::uint64_t in_flight = 0;
    for (SequenceId id = first; id < first + request.num_choices; ++id) {
      const PlannedSequence* sequence = find(id);
      if (sequence == nullptr) continue;
      ++left;
      in_flight += sequence->samples ? 1 : 0;
      const auto& running = request.running;
      TICKERTAPE_ASSERT(std::binary_search(running.begin(), running.end(), id) ==
                        sequence->running);
    }
    TICKERTAPE_ASSERT(left > 0 && left == request.num_left);
    TICKERTAPE_ASSERT(in_flight == request.in_flight);
    TICKERTAPE_ASSERT(request.emitted + request.in_flight <= request.granted);
    num_left += left;
    num_running += request.running.size();
  }
  TICKERTAPE_ASSERT(num_left == sequences_.size() && num_running == running_.size());
}

}  // namespace tickertape::actors
