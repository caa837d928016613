// make_way: those that give their place to somebody who waits.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "actors/tick.hpp"

namespace tickertape::actors {
namespace {

/// So many of other clients make way for one sequence at most.
constexpr std::size_t kMostVictims = 8;

/// What a client has of the engine.
struct Share {
  std::uint64_t places = 0;
  std::uint64_t pages = 0;
};

}  // namespace

/// Before anybody has a row: the first of the line takes the place of those that have to make way
/// for it, when it needs that and it is enough.
void Planner::admit_in_place_of_others(Tick& tick) {
  const std::optional<SequenceId> first = line_.first();
  if (!first) return;
  PlannedSequence& candidate = get(*first);
  std::vector<PlannedSequence*> victims = victims_for(candidate);
  if (victims.empty() || must_wait_for_others(candidate) || is_hopeless(tick, candidate)) return;
  if (fits(tick, candidate) || !keep_as_few_as_needed(tick, candidate, victims)) return;
  if (tick.is_ahead) {
    wants_landing_ = true;
    return;
  }
  for (PlannedSequence* victim : victims) preempt(tick, *victim);
  // Those that go on have their tokens of this tick all the same.
  const auto reserved = static_cast<std::uint32_t>(running_.size());
  tick.budget -= reserved;
  admit(tick, candidate);
  tick.budget += reserved;
}

/// Those that make way for the candidate, the first of them first.
std::vector<PlannedSequence*> Planner::victims_for(const PlannedSequence& candidate) const {
  return options_.order->shares_by_client() ? victims_above_share(candidate)
                                            : victims_of_lower_class(candidate);
}

bool Planner::may_make_way(const PlannedSequence& sequence) const {
  return !sequence.ending && sequence.view.preemptions < options_.max_class_preemptions;
}

std::vector<PlannedSequence*> Planner::victims_of_lower_class(
    const PlannedSequence& candidate) const {
  const std::int32_t its_class = options_.order->preemption_class(candidate.view);
  std::vector<PlannedSequence*> victims;
  for (PlannedSequence* sequence : running_) {
    const bool is_lower = options_.order->preemption_class(sequence->view) > its_class;
    if (is_lower && may_make_way(*sequence)) victims.push_back(sequence);
  }
  std::sort(
      victims.begin(), victims.end(), [&](const PlannedSequence* a, const PlannedSequence* b) {
        const auto rank = [&](const SequenceView& view) {
          return std::tuple(options_.order->preemption_class(view), view.parked, view.arrival);
        };
        return rank(a->view) > rank(b->view);
      });
  return victims;
}

/// Of the client that has most of what is short its youngest, as long as that client keeps at least
/// as much of it as the candidate's then has: so the one cannot take it back from the other. Slots
/// are short when none is free: one is taken by its number, more only for their pages.
std::vector<PlannedSequence*> Planner::victims_above_share(const PlannedSequence& candidate) const {
  std::unordered_map<std::uint64_t, Share> shares;
  Share most;
  for (const PlannedSequence* sequence : running_) {
    Share& share = shares[sequence->view.client];
    most.places = std::max(most.places, ++share.places);
    most.pages = std::max(most.pages, share.pages += sequence->view.pages);
  }
  Share own = shares[candidate.view.client];
  ++own.places;
  own.pages += pool_.pages_for(candidate.view.num_tokens);
  const bool needs_slot = free_slots_.empty();
  std::vector<PlannedSequence*> victims;
  if (needs_slot ? most.places <= own.places : most.pages <= own.pages) return victims;

  const std::size_t oldest = oldest_runnable();
  std::vector<PlannedSequence*> left;
  for (std::size_t i = 0; i < running_.size(); ++i) {
    if (i != oldest && may_make_way(*running_[i])) left.push_back(running_[i]);
  }
  while (victims.size() < kMostVictims) {
    const bool by_places = needs_slot && victims.empty();
    std::size_t best = left.size();
    std::tuple<std::uint64_t, bool, std::uint64_t> best_rank;
    for (std::size_t i = 0; i < left.size(); ++i) {
      const SequenceView& view = left[i]->view;
      const Share& share = shares[view.client];
      const bool keeps_enough =
          by_places ? share.places > own.places : share.pages >= own.pages + view.pages;
      const std::tuple rank(by_places ? share.places : share.pages, view.parked, view.arrival);
      if (!keeps_enough || (best < left.size() && rank <= best_rank)) continue;
      best = i;
      best_rank = rank;
    }
    if (best == left.size()) break;
    PlannedSequence* const victim = left[best];
    Share& share = shares[victim->view.client];
    --share.places;
    share.pages -= victim->view.pages;
    victims.push_back(victim);
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(best));
  }
  return victims;
}

/// Leaves so many of the victims that the candidate fits. False: not even all are enough.
bool Planner::keep_as_few_as_needed(Tick& tick, const PlannedSequence& candidate,
                                    std::vector<PlannedSequence*>& victims) const {
  refresh_views(tick);
  std::vector<SequenceView> left = tick.views;
  std::uint32_t freed = 0;
  for (std::size_t count = 1; count <= victims.size(); ++count) {
    const PlannedSequence& victim = *victims[count - 1];
    freed += pages_freed_by(victim, candidate);
    std::erase_if(left, [&](const SequenceView& view) { return view.id == victim.view.id; });
    if (!fits(tick, candidate, left, freed)) continue;
    victims.resize(count);
    return true;
  }
  return false;
}

}  // namespace tickertape::actors
