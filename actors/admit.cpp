// admit: who of those that wait starts in this tick.
#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <tickertape/assert.hpp>

#include "actors/tick.hpp"

namespace tickertape::actors {
namespace {

/// Those at the front that wait for others of their own are looked past, but only so many: a plan
/// costs the same however long the line is.
constexpr std::uint32_t kMaxPassedOver = 64;

/// Work on an answer that comes too late more often than that is better done for others.
constexpr std::uint32_t kMostLate = LengthForecast::kCertain / 4;

}  // namespace

void Planner::admit_waiting(Tick& tick) {
  std::uint32_t passed_over = 0;
  std::optional<SequenceId> next = line_.first();
  while (next && tick.budget > 0 && passed_over < kMaxPassedOver) {
    PlannedSequence& candidate = get(*next);
    if (must_wait_for_others(candidate)) {
      ++passed_over;
      next = line_.after(*next);
      continue;
    }
    if (!admit_next(tick, *next)) return;
    // Who is served moves in the order; those passed over may be able to start now.
    next = line_.first();
  }
}

/// Deals with the first that could start. False: nobody else in this tick.
bool Planner::admit_next(Tick& tick, SequenceId id) {
  PlannedSequence& candidate = get(id);
  if (is_hopeless(tick, candidate)) {
    end(candidate, FinishReason::deadline);
    return true;
  }
  bool made_room = false;
  while (!fits(tick, candidate)) {
    // Nothing else is admitted in a tick that preempted: so not after others were, either.
    if (!tick.plan.opened.empty()) return false;
    if (!evict_parked(tick)) return false;
    made_room = true;
  }
  admit(tick, candidate);
  return !made_room;
}

/// Starts the first of the line as long as it comes before this rank. False: it cannot start in
/// this tick.
bool Planner::admit_before(Tick& tick, std::int64_t rank) {
  while (tick.budget > 0) {
    const std::optional<SequenceId> first = line_.first();
    if (!first || options_.order->rank(get(*first).view) >= rank) return true;
    PlannedSequence& candidate = get(*first);
    if (tick.preempted || wants_landing_ || must_wait_for_others(candidate) ||
        is_hopeless(tick, candidate) || !fits(tick, candidate)) {
      return false;
    }
    admit(tick, candidate);
  }
  return false;
}

bool Planner::must_wait_for_others(const PlannedSequence& candidate) const {
  // A window may be taken by rows of siblings that are planned already.
  return !candidate.request->has_credit() || candidate.num_moves > 0 ||
         waits_for_sibling(candidate) || waits_for_prefix(candidate);
}

/// Its prompt cannot be read before its deadline; or others wait, and its answer will probably not
/// have ended by then, as far as is known how long answers are.
bool Planner::is_hopeless(const Tick& tick, const PlannedSequence& candidate) const {
  const SequenceView& view = candidate.view;
  if (!options_.order->sheds_hopeless() || view.deadline_ns == kNoDeadline) return false;
  if (!pass_model_.ready()) return false;
  const std::int64_t left_ns =
      view.deadline_ns - tick.now_ns - prefill_cost_ns(candidate, view.num_tokens);
  if (left_ns < 0) return true;
  if (line_.size() < 2 || !profile_.is_known()) return false;
  // Each further token is a pass of one token for everybody who runs.
  std::uint64_t context = view.num_tokens;
  for (const PlannedSequence* sequence : running_) context += sequence->view.num_tokens;
  const std::int64_t pass_ns = pass_model_.estimate_ns(running_.size() + 1, context);
  const auto further = static_cast<std::uint32_t>(
      std::min<std::int64_t>(left_ns / std::max<std::int64_t>(pass_ns, 1), view.max_tokens));
  std::uint32_t goes_on = 0;
  profile_.survival(view, std::span(&further, 1), std::span(&goes_on, 1));
  return goes_on > kMostLate;
}

bool Planner::fits(Tick& tick, const PlannedSequence& candidate) const {
  if (free_slots_.empty()) return false;
  refresh_views(tick);
  return fits(tick, candidate, tick.views, 0);
}

/// With these running, and `num_more` pages more available than there are.
bool Planner::fits(const Tick& tick, const PlannedSequence& candidate,
                   std::span<const SequenceView> running, std::uint32_t num_more) const {
  SequenceView view = candidate.view;
  PoolView pool = pool_view();
  pool.num_free += num_more;
  std::uint64_t num_shareable = 0;  // Of those that are to go on running.
  for (const SequenceView& one : running) num_shareable += one.shareable;
  pool.num_shared =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(tick.num_shared, num_shareable));
  if (donor(candidate) != nullptr) {
    view.shareable = (view.prompt_tokens - 1) / pool.page_size;
  } else {
    // Cached pages that it takes are its own: nobody else counts them.
    const KvPool::Match match = find_pages(candidate);
    view.shareable = match.num_pages - match.num_cached;
  }
  const std::uint32_t wanted =
      std::max(view.num_tokens, options_.admission->tokens_at_start(view, pool));
  return pool_.pages_for(wanted) - view.shareable <= pool.num_free &&
         windows_.fits(view, running) &&
         options_.admission->admit({view, running, pool, profile_, tick.now_ns});
}

/// Whether it may take the prompt's K and V from a sibling. One that still has to give the prompt's
/// log-probabilities computes it.
bool Planner::shares_prompt(const PlannedSequence& sequence) const {
  const SequenceView& view = sequence.view;
  return sequence.request->num_choices > 1 && view.prompt_tokens > 1 &&
         !sequence.has_scores_to_give() && sequence.swapped.pages.empty();
}

/// A sibling that has computed the prompt but its last token: that one everybody computes, to
/// sample what follows.
const PlannedSequence* Planner::donor(const PlannedSequence& candidate) const {
  if (!shares_prompt(candidate)) return nullptr;
  for (const SequenceId id : candidate.request->running) {
    const PlannedSequence& sibling = sequences_.at(id);
    // What is moved for it, in this tick or by one under way, may yet fail to be.
    if (sibling.num_moves == 0 && sibling.view.num_computed + 1 >= candidate.view.prompt_tokens &&
        windows_.can_fork(id, candidate.view.prompt_tokens - 1)) {
      return &sibling;
    }
  }
  return nullptr;
}

/// A sibling computes the prompt right now: soon it can be shared. Not with one that went on and
/// has given back the prompt's end in a layer group with a window.
bool Planner::waits_for_sibling(const PlannedSequence& candidate) const {
  if (!shares_prompt(candidate) || donor(candidate) != nullptr) return false;
  const auto& running = candidate.request->running;
  return std::any_of(running.begin(), running.end(), [&](SequenceId id) {
    const PlannedSequence& sibling = sequences_.at(id);
    const std::uint32_t num_shared = candidate.view.prompt_tokens - 1;
    return !sibling.ending &&
           (sibling.view.num_computed < num_shared || windows_.can_fork(id, num_shared));
  });
}

void Planner::share_prompt(Tick& tick, PlannedSequence& sequence) {
  const PlannedSequence* const sibling = donor(sequence);
  if (sibling == nullptr) return;
  const std::uint32_t num_shared = sequence.view.prompt_tokens - 1;
  pool_.fork(sibling->view.id, sequence.view.id, num_shared);
  windows_.fork(sibling->view.id, sequence.view.id, num_shared, tick.plan);
  if (num_shared % pool_.options().page_size != 0) {
    std::optional<PageCopy> copy;
    const bool has_own = pool_.make_writable(sequence.view.id, num_shared, copy);
    TICKERTAPE_ASSERT(has_own && copy);
    tick.plan.copies.push_back(*copy);
    tick.under_way.copied.push_back(sequence.view.id);
    ++sequence.num_moves;  // Nobody copies from it in this tick: copies have no order.
  }
  sequence.num_named = std::min(num_shared / pool_.options().page_size,
                                static_cast<std::uint32_t>(sequence.names.size()));
  sequence.view.num_computed = num_shared;
}

/// The names that its first pages are looked up by: at least one token is always computed, since
/// what follows is sampled there. Prompt log-probabilities need all of them computed.
std::span<const PageName> Planner::wanted_names(const PlannedSequence& sequence) const {
  const SequenceView& view = sequence.view;
  std::size_t count = std::min<std::size_t>(sequence.names.size(),
                                            (view.num_tokens - 1) / pool_.options().page_size);
  if (!sequence.swapped.pages.empty()) count = sequence.swapped.first_index;
  if (sequence.has_scores_to_give()) count = 0;
  return std::span(sequence.names).first(count);
}

/// Pages that it finds by their names, in all layer groups at once.
KvPool::Match Planner::find_pages(const PlannedSequence& sequence) const {
  const std::span<const PageName> names = wanted_names(sequence);
  const KvPool::Match match = pool_.match(names);
  // What the windows showed of one that was swapped out comes back from the host.
  if (!sequence.swapped.pages.empty()) return match;
  const std::size_t count = windows_.num_found(names.first(match.num_pages));
  return count == match.num_pages ? match : pool_.match(names.first(count));
}

/// Another one computes the page right now that it would take next.
bool Planner::waits_for_prefix(const PlannedSequence& candidate) const {
  if (being_computed_.empty()) return false;
  const std::span<const PageName> names = wanted_names(candidate);
  const std::uint32_t num_found = find_pages(candidate).num_pages;
  if (num_found == names.size()) return false;
  const auto found = being_computed_.find(names[num_found]);
  if (found == being_computed_.end()) return false;
  const PlannedSequence& other = sequences_.at(found->second);
  return !other.view.parked && !other.ending && other.request->is_open();
}

void Planner::find_prefix(PlannedSequence& sequence) {
  const std::span<const PageName> names = wanted_names(sequence);
  const std::uint32_t count = find_pages(sequence).num_pages;
  pool_.attach(sequence.view.id, names.first(count));
  windows_.attach(sequence.view.id, names.first(count));
  sequence.num_named = count;
  sequence.view.num_computed = count * pool_.options().page_size;
  if (sequence.view.preemptions == 0 && !names.empty()) {
    counters_.prefix_queries += sequence.view.prompt_tokens;
    counters_.prefix_hits += sequence.view.num_computed;
  }
  for (std::size_t i = count; i < sequence.names.size(); ++i) {
    being_computed_.try_emplace(sequence.names[i], sequence.view.id);
  }
}

/// Its pages come back from the host, behind those that are found by their names.
void Planner::swap_in(Tick& tick, PlannedSequence& sequence) {
  SwappedOut swapped = std::exchange(sequence.swapped, SwappedOut());
  pool_.attach(sequence.view.id, std::span(sequence.names).first(swapped.first_index));
  const bool grown = pool_.grow(sequence.view.id, sequence.view.num_tokens);
  TICKERTAPE_ASSERT(grown);
  refresh_table(sequence);
  for (std::size_t i = 0; i < swapped.pages.size(); ++i) {
    tick.plan.swap_in.push_back(
        PageCopy{swapped.pages[i], sequence.table[swapped.first_index + i]});
  }
  windows_.swap_in(sequence.view.id, swapped, tick.plan);
  sequence.num_named = swapped.first_index;
  sequence.view.num_computed = swapped.num_computed;
  counters_.pages_swapped_in += swapped.num_pages();
  ++sequence.num_moves;
  tick.under_way.swapped.push_back(sequence.view.id);
  // They are read until the plan is done.
  tick.under_way.swapped_in.push_back(std::move(swapped));
}

void Planner::admit(Tick& tick, PlannedSequence& sequence) {
  const SequenceView& view = sequence.view;
  leave_line(sequence);
  PlanOpened opened;
  opened.id = view.id;
  opened.resumed = view.preemptions > 0;
  const bool found = pool_.match(wanted_names(sequence)).num_pages == sequence.swapped.first_index;
  if (!sequence.swapped.pages.empty() && found) {
    opened.how = Notice::How::swap;
    opened.swapped_pages = sequence.swapped.num_pages();
    swap_in(tick, sequence);
  } else {
    if (!sequence.swapped.pages.empty()) {
      sequence.num_lost = sequence.swapped.num_computed;  // Its beginning is gone: all anew.
      lose_swapped(sequence);
    }
    share_prompt(tick, sequence);
    if (view.num_computed == 0) {
      find_prefix(sequence);
      opened.cached_tokens = view.num_computed;
    }
  }
  if (sequence.num_lost > view.num_computed) {
    counters_.recomputed_tokens += sequence.num_lost - view.num_computed;
  }
  sequence.num_lost = 0;
  line_.charge(view.client, view.num_tokens - view.num_computed);
  if (view.preemptions == 0) profile_.reached(view);
  // All known tokens at once: a prefill under way never has to wait for pages.
  const std::uint32_t wanted =
      std::max(view.num_tokens, options_.admission->tokens_at_start(view, pool_view()));
  const bool grown = pool_.grow(view.id, wanted);
  TICKERTAPE_ASSERT(grown);
  take_place(tick, sequence);
  opened.slot = sequence.slot;
  tick.plan.opened.push_back(opened);
  plan_row(tick, sequence);
  TICKERTAPE_ASSERT(sequence.in_flight());  // The backend hears of a slot with its first row.
}

void Planner::take_place(Tick& tick, PlannedSequence& sequence) {
  refresh_table(sequence);
  sequence.running = true;
  sequence.slot = *free_slots_.begin();
  free_slots_.erase(free_slots_.begin());
  const auto place = std::upper_bound(running_.begin(), running_.end(), &sequence,
                                      [](const PlannedSequence* a, const PlannedSequence* b) {
                                        return a->view.arrival < b->view.arrival;
                                      });
  running_.insert(place, &sequence);
  auto& siblings = sequence.request->running;
  siblings.insert(std::lower_bound(siblings.begin(), siblings.end(), sequence.view.id),
                  sequence.view.id);
  tick.views_fresh = false;
}

void Planner::fail_hopeless(Tick& tick) {
  if (!running_.empty() || pool_.num_held() > 0) return;
  const std::optional<SequenceId> first = line_.first();
  // The oldest alone; the next tick looks again.
  if (first && !tick.plan.batch_ended && !options_.is_static() && !fits(tick, get(*first))) {
    end(get(*first), FinishReason::error);
  }
}

void Planner::refresh_views(Tick& tick) const {
  if (tick.views_fresh) return;
  tick.views.clear();
  std::uint64_t num_entries = 0;
  for (const PlannedSequence* sequence : running_) {
    tick.views.push_back(sequence->view);
    num_entries += sequence->view.pages;
  }
  tick.num_shared = 0;
  tick.views_fresh = true;
  if (num_entries <= pool_.num_held()) return;
  const std::uint64_t num_again = num_entries - pool_.num_held();  // Beyond the first of each page.
  std::uint64_t num_shareable = 0;
  for (std::size_t i = 0; i < running_.size(); ++i) {
    tick.views[i].shareable = num_shared_first(*running_[i]);
    num_shareable += tick.views[i].shareable;
  }
  if (num_shareable > num_again) {
    tick.num_shared = static_cast<std::uint32_t>(num_shareable - num_again);
  }
}

/// Its first pages that others hold too.
std::uint32_t Planner::num_shared_first(const PlannedSequence& sequence) const {
  const std::span<const PageId> table = sequence.table;
  const auto first_own = std::find_if(table.begin(), table.end(),
                                      [&](PageId page) { return pool_.references(page) == 1; });
  return static_cast<std::uint32_t>(first_own - table.begin());
}

PoolView Planner::pool_view() const {
  PoolView view;
  view.num_pages = pool_.options().num_pages;
  view.num_free = pool_.num_available();
  view.page_size = pool_.options().page_size;
  view.max_model_len = options_.max_model_len;
  return view;
}

}  // namespace tickertape::actors
