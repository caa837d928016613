// Planner: the state between ticks, and everything that changes it but the plan itself.
#include "actors/planner.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include <tickertape/assert.hpp>

#include "actors/admission.hpp"
#include "actors/order.hpp"
#include "actors/preemption.hpp"

namespace tickertape::actors {

Planner::Planner(PlannerOptions options)
    : options_(std::move(options)),
      pool_(options_.pool),
      host_(options_.num_host_pages),
      windows_(options_),
      line_(options_.order && options_.order->shares_by_client()),
      swap_ns_per_page_(options_.swap_ns_per_page) {
  if (options_.lengths) profile_ = LengthProfile(*options_.lengths);
  if (!options_.admission) options_.admission = prompt_only_admission();
  if (!options_.order) options_.order = fcfs_order();
  if (!options_.preemption) options_.preemption = youngest_first_preemption(options_.order);
  if (options_.max_model_len == 0) {
    options_.max_model_len = static_cast<std::uint32_t>(std::min<std::uint64_t>(
        longest_sequence(options_), std::numeric_limits<std::uint32_t>::max()));
  }
  if (options_.static_batch_size == 0) options_.static_batch_size = options_.max_num_seqs;
  // The baseline before paging shares nothing.
  if (options_.is_static()) options_.prefix_caching = false;
  if (options_.is_static()) options_.overlap = false;
  TICKERTAPE_ASSERT(options_.max_num_seqs > 0);
  TICKERTAPE_ASSERT(options_.static_batch_size <= options_.max_num_seqs);
  TICKERTAPE_ASSERT(options_.max_num_batched_tokens >= options_.max_num_seqs);
  for (SlotId slot = 0; slot < options_.max_num_seqs; ++slot) free_slots_.insert(slot);
}

void Planner::add(const NewRequest& wanted, std::int64_t now_ns) {
  TICKERTAPE_ASSERT(wanted.prompt_tokens > 0 && wanted.num_choices > 0);
  TICKERTAPE_ASSERT(wanted.max_tokens >= wanted.prompt_tokens);
  const auto [place, is_new] = requests_.try_emplace(wanted.id);
  TICKERTAPE_ASSERT(is_new);
  PlannedRequest& request = place->second;
  request.num_choices = wanted.num_choices;
  request.num_left = wanted.num_choices;
  // A static batch is delivered when it is over: a window would stop it for ever.
  request.granted =
      options_.is_static() ? std::uint64_t{wanted.max_tokens} * wanted.num_choices : wanted.granted;
  for (std::uint32_t choice = 0; choice < wanted.num_choices; ++choice) {
    add_choice(wanted, request, choice, now_ns);
  }
}

void Planner::add_choice(const NewRequest& wanted, PlannedRequest& request, std::uint32_t choice,
                         std::int64_t now_ns) {
  const SequenceId id = wanted.id + choice;
  const auto [place, is_new] = sequences_.try_emplace(id);
  TICKERTAPE_ASSERT(is_new);
  PlannedSequence& sequence = place->second;
  sequence.first = wanted.id;
  sequence.request = &request;
  sequence.view.id = id;
  sequence.view.arrival = next_arrival_++;
  sequence.view.arrival_ns = now_ns;
  sequence.view.priority = wanted.priority;
  sequence.view.client = wanted.client;
  sequence.view.is_chat = wanted.is_chat;
  sequence.view.prompt_tokens = wanted.prompt_tokens;
  sequence.view.num_tokens = wanted.prompt_tokens;
  sequence.view.max_tokens = wanted.max_tokens;
  sequence.view.deadline_ns = wanted.deadline_ns;
  sequence.scores_prompt = wanted.scores_prompt && choice == 0;
  sequence.needs_host = wanted.needs_host;
  if (options_.prefix_caching) sequence.names = wanted.names;
  if (wanted.deadline_ns != kNoDeadline) deadlines_.emplace(wanted.deadline_ns, id);
  if (request.has_credit()) join_line(sequence);
}

void Planner::commit(const Demand& demand) {
  for (const RowDone& done : demand.done) commit_row(done);
  for (const NamedPage& named : demand.named) {
    const auto found = sequences_.find(named.id);
    if (found == sequences_.end() || !options_.prefix_caching) continue;
    found->second.names.push_back(named.name);
    name_pages(found->second);
  }
  if (demand.has_landed && !under_way_.empty()) commit_moves(demand);
}

/// The oldest plan under way is done, with all that it moved.
void Planner::commit_moves(const Demand& demand) {
  const UnderWay landed = std::move(under_way_.front());
  under_way_.pop_front();
  learn(demand, landed);
  for (const SwappedOut& swapped : landed.swapped_in) give_back(swapped);
  const auto arrive = [&](const std::vector<SequenceId>& ids, bool failed, auto lose) {
    for (const SequenceId id : ids) {
      const auto found = sequences_.find(id);
      if (found == sequences_.end()) continue;
      --found->second.num_moves;
      if (failed) lose(found->second);
    }
  };
  arrive(landed.swapped, demand.swap_failed, [&](PlannedSequence& one) { lose_swapped(one); });
  arrive(landed.copied, demand.copy_failed, [&](PlannedSequence& one) {
    // The pass that read its pages has ended it, unless it had no row.
    if (one.running && !one.ending) end(one, FinishReason::error);
  });
}

void Planner::commit_row(const RowDone& done) {
  PlannedSequence& sequence = get(done.id);
  TICKERTAPE_ASSERT(sequence.in_flight());
  PlannedRequest& request = *sequence.request;
  const bool is_landed = --sequence.flights.front().num_rows == 0;
  if (is_landed) land(sequence, 0);
  sequence.view.num_computed += done.num_computed;
  sequence.view.num_tokens += done.num_emitted;
  sequence.num_scored += done.num_scored;
  request.emitted += done.num_emitted;
  if (!request.is_open()) exhausted_.push_back(sequence.first);
  TICKERTAPE_ASSERT(sequence.view.num_computed <= sequence.view.num_tokens);
  TICKERTAPE_ASSERT(sequence.view.num_tokens <= sequence.view.max_tokens);
  // A row that came to nothing says nothing good of what it read, either.
  if (done.num_computed > 0) name_pages(sequence);
  if (done.num_emitted > 0) {
    profile_.reached(sequence.view);
    line_.charge(sequence.view.client, std::uint64_t{2} * done.num_emitted);
  }
  if (done.ended && done.by_itself) profile_.ended(sequence.view);
  sequence.ended = sequence.ended || done.ended;
  if (!is_landed) return;
  // Rows under way begin behind this one. A static batch keeps its buffers to the end.
  if (!options_.is_static()) {
    windows_.release_behind(done.id, sequence.view.num_computed);
  }
  if (sequence.ended) drop_flights(sequence);
  if (sequence.in_flight()) return;
  if (sequence.ended && sequence.ending) {
    // It ended by itself in the same pass: that end was delivered already.
    std::erase_if(ended_, [&](const PlanEnded& ended) { return ended.id == done.id; });
  }
  if (sequence.ended && !sequence.ending && batch_size_ > 0) {
    sequence.finished = true;  // It keeps its place until the longest of its batch ends.
  } else if (sequence.ended || sequence.ending) {
    forget(sequence);
  }
}

/// Rows planned ahead for what has ended come to nothing. Its pages and its slot are free at once:
/// whatever uses them next is behind those rows on the device.
void Planner::drop_flights(PlannedSequence& sequence) {
  while (sequence.in_flight()) {
    counters_.dropped_row_tokens += sequence.flights.front().num_tokens;
    land(sequence, 0);
  }
}

/// A flight is over, whatever it came to.
void Planner::land(PlannedSequence& sequence, std::size_t index) {
  const auto flight = sequence.flights.begin() + static_cast<std::ptrdiff_t>(index);
  if (flight->samples) --sequence.request->in_flight;
  sequence.flights.erase(flight);
}

/// What the plan took, for the estimates of the next ones.
void Planner::learn(const Demand& demand, const UnderWay& landed) {
  last_pass_ns_ = demand.pass_ns;
  if (demand.pass_ns > 0 && landed.tokens > 0) {
    pass_model_.observe(landed.tokens, landed.context, demand.pass_ns);
  }
  if (demand.swap_ns > 0 && landed.num_swaps > 0) {
    const std::int64_t measured = demand.swap_ns / landed.num_swaps;
    constexpr std::int64_t kMemory = 8;  // Of so many measurements, about.
    swap_ns_per_page_ = swap_ns_per_page_ == 0
                            ? measured
                            : swap_ns_per_page_ + (measured - swap_ns_per_page_) / kMemory;
  }
}

/// Tells the pool what the pages that are computed now hold.
void Planner::name_pages(PlannedSequence& sequence) {
  if (!sequence.running) return;
  const std::uint32_t num_full = sequence.view.num_computed / pool_.options().page_size;
  while (sequence.num_named < std::min<std::size_t>(num_full, sequence.names.size())) {
    const PageName name = sequence.names[sequence.num_named];
    windows_.name(sequence.view.id, sequence.num_named, name);
    pool_.name(sequence.view.id, sequence.num_named++, name);
    const auto found = being_computed_.find(name);
    if (found != being_computed_.end() && found->second == sequence.view.id) {
      being_computed_.erase(found);
    }
  }
}

void Planner::apply(const ReaderEvent& event) {
  const auto found = requests_.find(event.id);
  if (found == requests_.end()) return;
  PlannedRequest& request = found->second;
  request.granted = std::max(request.granted, event.granted);
  const bool is_open = request.is_open();
  const std::uint32_t num_choices = request.num_choices;  // The last end forgets the request.
  for (std::uint32_t choice = 0; choice < num_choices; ++choice) {
    const auto place = sequences_.find(event.id + choice);
    if (place == sequences_.end()) continue;
    PlannedSequence& sequence = place->second;
    if (sequence.ending || sequence.finished) continue;
    const auto& stopped = event.stopped;
    if (event.cancelled) {
      end(sequence, FinishReason::cancelled);
    } else if (std::find(stopped.begin(), stopped.end(), choice) != stopped.end()) {
      profile_.ended(sequence.view);
      end(sequence, FinishReason::stop);
    } else if (is_open) {
      unpark(sequence);
      if (!sequence.running && !line_.contains(sequence.view.id)) join_line(sequence);
    }
  }
}

void Planner::end_all(FinishReason reason) {
  std::vector<SequenceId> all;
  all.reserve(sequences_.size());
  for (const auto& [id, sequence] : sequences_) {
    if (!sequence.ending && !sequence.finished) all.push_back(id);
  }
  std::sort(all.begin(), all.end());
  for (const SequenceId id : all) end(get(id), reason);
}

const PlannedSequence* Planner::find(SequenceId id) const {
  const auto found = sequences_.find(id);
  return found == sequences_.end() ? nullptr : &found->second;
}

const PlannedRequest* Planner::find_request(SequenceId id) const {
  const auto found = requests_.find(id);
  return found == requests_.end() ? nullptr : &found->second;
}

void Planner::end(PlannedSequence& sequence, FinishReason reason) {
  TICKERTAPE_ASSERT(!sequence.ending && !sequence.finished);
  ended_.push_back(PlanEnded{sequence.view.id, reason});
  if (sequence.in_flight()) {
    sequence.ending = true;  // The pass still writes its pages.
  } else {
    forget(sequence);
  }
}

void Planner::forget(PlannedSequence& sequence) {
  const SequenceId id = sequence.view.id;
  unpark(sequence);
  if (sequence.running) {
    leave_running(sequence);
  } else {
    leave_line(sequence);
  }
  give_back(sequence.swapped);
  if (sequence.view.deadline_ns != kNoDeadline) deadlines_.erase({sequence.view.deadline_ns, id});
  const SequenceId first = sequence.first;
  if (--sequence.request->num_left == 0) requests_.erase(first);
  sequences_.erase(id);
}

void Planner::leave_running(PlannedSequence& sequence) {
  for (std::size_t i = sequence.num_named; i < sequence.names.size(); ++i) {
    const auto found = being_computed_.find(sequence.names[i]);
    if (found != being_computed_.end() && found->second == sequence.view.id) {
      being_computed_.erase(found);
    }
  }
  pool_.release(sequence.view.id);
  windows_.release(sequence.view.id);
  refresh_table(sequence);
  sequence.num_named = 0;
  sequence.running = false;
  free_slots_.insert(sequence.slot);
  closed_slots_.push_back(sequence.slot);
  std::erase(running_, &sequence);
  std::erase(sequence.request->running, sequence.view.id);
}

void Planner::join_line(PlannedSequence& sequence) {
  line_.insert({sequence.view.id, options_.order->rank(sequence.view), sequence.view.arrival,
                sequence.view.client});
}

void Planner::leave_line(const PlannedSequence& sequence) {
  if (line_.contains(sequence.view.id)) line_.erase(sequence.view.id);
}

void Planner::refresh_table(PlannedSequence& sequence) {
  sequence.table = pool_.pages(sequence.view.id);
  sequence.view.pages = static_cast<std::uint32_t>(sequence.table.size());
}

void Planner::expire(std::int64_t now_ns) {
  while (!deadlines_.empty() && deadlines_.begin()->first <= now_ns) {
    PlannedSequence& sequence = get(deadlines_.begin()->second);
    deadlines_.erase(deadlines_.begin());
    sequence.view.deadline_ns = kNoDeadline;
    if (!sequence.ending && !sequence.finished) end(sequence, FinishReason::deadline);
  }
  if (options_.stall_timeout_ns == kNoDeadline) return;
  while (!stalled_.empty() && now_ns - stalled_.begin()->first >= options_.stall_timeout_ns) {
    PlannedSequence& sequence = get(stalled_.begin()->second);
    unpark(sequence);
    end(sequence, FinishReason::stalled);
  }
}

/// A window that is used up parks all choices, also those that wait: their reader may have stalled.
void Planner::update_parking(std::int64_t now_ns) {
  for (const SequenceId first : exhausted_) {
    const auto request = requests_.find(first);
    if (request == requests_.end() || request->second.is_open()) continue;
    for (SequenceId id = first; id < first + request->second.num_choices; ++id) {
      const auto found = sequences_.find(id);
      if (found == sequences_.end()) continue;
      PlannedSequence& sequence = found->second;
      if (sequence.ending || sequence.finished || sequence.view.parked) continue;
      sequence.view.parked = true;
      sequence.view.parked_since_ns = now_ns;
      stalled_.emplace(now_ns, id);
      leave_line(sequence);
    }
  }
  exhausted_.clear();
}

void Planner::unpark(PlannedSequence& sequence) {
  if (!sequence.view.parked) return;
  stalled_.erase({sequence.view.parked_since_ns, sequence.view.id});
  sequence.view.parked = false;
}

/// What was moved for it is not there: it computes its tokens again.
void Planner::lose_swapped(PlannedSequence& sequence) {
  if (sequence.running) {
    // The pass that read its pages has ended it, unless it had no row.
    if (!sequence.ending) end(sequence, FinishReason::error);
    return;
  }
  give_back(std::exchange(sequence.swapped, SwappedOut()));
}

void Planner::give_back(const SwappedOut& swapped) {
  host_.give_back(swapped.pages);
  windows_.give_back(swapped);
}

}  // namespace tickertape::actors
