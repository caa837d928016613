// Planner: what others see of it, and what must always hold.
#include <algorithm>

#include <tickertape/assert.hpp>

#include "actors/planner.hpp"

namespace tickertape::actors {

void Planner::fill(EngineStats& stats) const {
  stats.num_running = running_.size();
  stats.num_waiting = num_waiting();
  stats.num_parked = 0;
  for (const PlannedSequence* sequence : running_) {
    stats.num_parked += sequence->view.parked ? 1 : 0;
  }
  stats.held_tokens = count_held_tokens();
  stats.pages_total = pool_.options().num_pages;
  stats.pages_free = pool_.num_free();
  stats.pages_cached = pool_.num_cached();
  stats.pages_held = pool_.num_held();
  stats.held_places = std::uint64_t{pool_.num_held()} * pool_.options().page_size;
  stats.host_pages_total = host_.num_pages();
  stats.host_pages_free = host_.num_free();
  windows_.add_to(stats);
  stats.ticks = tick_;
  stats.recompute_preemptions = counters_.recompute_preemptions;
  stats.swap_preemptions = counters_.swap_preemptions;
  stats.preemptions = counters_.recompute_preemptions + counters_.swap_preemptions;
  stats.recomputed_tokens = counters_.recomputed_tokens;
  stats.pages_swapped_out = counters_.pages_swapped_out;
  stats.pages_swapped_in = counters_.pages_swapped_in;
  stats.prefix_queries = counters_.prefix_queries;
  stats.prefix_hits = counters_.prefix_hits;
  stats.slot_ticks = counters_.slot_ticks;
  stats.useful_slot_ticks = counters_.useful_slot_ticks;
  stats.computed_tokens = counters_.computed_tokens;
  stats.prompt_padding_tokens = counters_.prompt_padding_tokens;
  stats.finished_row_tokens = counters_.finished_row_tokens;
  stats.overlapped_ticks = counters_.overlapped_ticks;
  stats.dropped_row_tokens = counters_.dropped_row_tokens;
}

/// A page that several sequences share is counted once; all its places hold a token.
std::uint64_t Planner::count_held_tokens() const {
  std::uint64_t num_computed = 0;
  std::uint64_t num_entries = 0;
  for (const PlannedSequence* sequence : running_) {
    num_computed += sequence->view.num_computed;
    num_computed += windows_.num_tokens_of(sequence->view.id, sequence->view.num_computed);
    num_entries += sequence->view.pages;
    num_entries += windows_.num_pages_of(sequence->view.id);
  }
  const std::uint64_t num_held = std::uint64_t{pool_.num_held()} + windows_.num_held();
  return num_computed - (num_entries - num_held) * pool_.options().page_size;
}

void Planner::check() const {
  pool_.check();
  check_requests();
  check_order();
  TICKERTAPE_ASSERT(running_.size() + free_slots_.size() == options_.max_num_seqs);
  std::set<SlotId> slots(free_slots_);
  std::size_t owners = 0;
  TICKERTAPE_ASSERT(under_way_.size() <= kMaxPlansUnderWay);
  for (const auto& [id, sequence] : sequences_) {
    check_sequence(sequence);
    owners += sequence.table.empty() ? 0 : 1;
    if (sequence.running) TICKERTAPE_ASSERT(slots.insert(sequence.slot).second);
  }
  TICKERTAPE_ASSERT(owners == pool_.num_owners());
  check_host_pages();
  check_windows();
  for (const auto& [name, owner] : being_computed_) {
    const PlannedSequence& sequence = sequences_.at(owner);
    TICKERTAPE_ASSERT(sequence.running);
    const auto from = sequence.names.begin() + sequence.num_named;
    TICKERTAPE_ASSERT(std::find(from, sequence.names.end(), name) != sequence.names.end());
  }
}

void Planner::check_host_pages() const {
  std::vector<std::size_t> counts(1 + windows_.size());
  const auto count = [&](const SwappedOut& swapped) {
    counts[0] += swapped.pages.size();
    for (std::size_t i = 0; i < swapped.windows.size(); ++i) {
      counts.at(i + 1) += swapped.windows[i].size();
    }
  };
  for (const UnderWay& plan : under_way_) {
    for (const SwappedOut& swapped : plan.swapped_in) count(swapped);
  }
  for (const auto& [id, sequence] : sequences_) count(sequence.swapped);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const HostPool& host = i == 0 ? host_ : windows_.host_pool(i - 1);
    TICKERTAPE_ASSERT(counts[i] + host.num_free() == host.num_pages());
  }
}

/// Of everybody who runs, what the next row sees is there and what it writes is its own; and there
/// is room for all that may still come.
void Planner::check_windows() const {
  const std::uint32_t page_size = pool_.options().page_size;
  for (std::size_t group = 0; group < windows_.size(); ++group) {
    const KvPool& pool = windows_.pool(group);
    const std::uint32_t window = options_.windows[group].window;
    pool.check();
    std::size_t num_owners = 0;
    std::uint64_t most = 0;
    for (const PlannedSequence* sequence : running_) {
      const SequenceView& view = sequence->view;
      const std::span<const PageId> table = pool.pages(view.id);
      num_owners += table.empty() ? 0 : 1;
      TICKERTAPE_ASSERT(sequence->next_position() <= table.size() * page_size);
      const std::uint32_t next = view.num_computed / page_size;
      const std::uint32_t first =
          view.num_computed < window ? 0 : (view.num_computed + 1 - window) / page_size;
      for (std::uint32_t i = first; i < table.size(); ++i) {
        TICKERTAPE_ASSERT(table[i] != kNoPage);
        TICKERTAPE_ASSERT(i < next || pool.references(table[i]) == 1);
        TICKERTAPE_ASSERT(i != next || pool.name_of(table[i]) == 0);
      }
      if (options_.is_static()) continue;
      most += windows_.most_pages(group, view);
      const auto num_held =
          std::count_if(table.begin(), table.end(), [](PageId page) { return page != kNoPage; });
      TICKERTAPE_ASSERT(num_held <= std::int64_t{windows_.most_pages(group, view)});
    }
    TICKERTAPE_ASSERT(num_owners == pool.num_owners() && most <= pool.options().num_pages);
  }
}

void Planner::check_sequence(const PlannedSequence& sequence) const {
  const SequenceView& view = sequence.view;
  const std::uint32_t page_size = pool_.options().page_size;
  const auto pages = pool_.pages(view.id);
  TICKERTAPE_ASSERT(pages.data() == sequence.table.data() && pages.size() == sequence.table.size());
  TICKERTAPE_ASSERT(view.pages == pages.size());
  TICKERTAPE_ASSERT(view.num_computed <= pages.size() * page_size);
  TICKERTAPE_ASSERT(view.num_computed <= view.num_tokens && view.num_tokens <= view.max_tokens);
  TICKERTAPE_ASSERT(sequence.running || (pages.empty() && view.num_computed == 0));
  TICKERTAPE_ASSERT(!sequence.running || sequence.swapped.pages.empty());
  TICKERTAPE_ASSERT(sequence.running || !sequence.in_flight());
  TICKERTAPE_ASSERT(sequence.flights.size() <= under_way_.size());
  TICKERTAPE_ASSERT(sequence.next_position() <= pages.size() * page_size);
  TICKERTAPE_ASSERT(sequence.next_num_tokens() <= view.max_tokens);
  const bool stalled = stalled_.contains({view.parked_since_ns, view.id});
  TICKERTAPE_ASSERT(stalled == view.parked);
  const PlannedRequest& request = *sequence.request;
  // Who waits and has credit is in the line; who has used it up leaves it with the next plan.
  const bool is_listed = line_.contains(view.id);
  TICKERTAPE_ASSERT(!is_listed || !sequence.running);
  TICKERTAPE_ASSERT(is_listed || sequence.running || !request.is_open());
  TICKERTAPE_ASSERT(sequence.num_named * page_size <= view.num_computed);
  if (!sequence.running) return;
  // What is written next is the writer's own page, and no name stands for it.
  const std::uint32_t next = view.num_computed / page_size;
  if (next < pages.size()) {
    TICKERTAPE_ASSERT(pool_.references(pages[next]) == 1 && pool_.name_of(pages[next]) == 0);
  }
  // What others hold too is full.
  for (std::uint32_t i = view.num_computed / page_size; i < pages.size(); ++i) {
    TICKERTAPE_ASSERT(pool_.references(pages[i]) == 1);
  }
}

void Planner::check_order() const {
  std::size_t num_running = 0;
  for (const auto& [id, sequence] : sequences_) num_running += sequence.running ? 1 : 0;
  TICKERTAPE_ASSERT(num_running == running_.size());
  for (std::size_t i = 0; i < running_.size(); ++i) {
    TICKERTAPE_ASSERT(running_[i]->running);
    TICKERTAPE_ASSERT(i == 0 || running_[i - 1]->view.arrival < running_[i]->view.arrival);
  }
  std::size_t listed = 0;
  for (auto id = line_.first(); id; id = line_.after(*id)) {
    TICKERTAPE_ASSERT(!sequences_.at(*id).running);
    ++listed;
  }
  TICKERTAPE_ASSERT(listed == line_.size());
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
      in_flight += sequence->num_sampling();
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
