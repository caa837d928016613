// Tick: what is decided so far while a plan is made.
#pragma once
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "actors/planner.hpp"

namespace tickertape::actors {

/// Tokens that `num_tokens` tokens from `first` on attend to, summed.
[[nodiscard]] constexpr std::uint64_t context_of(std::uint32_t first,
                                                 std::uint32_t num_tokens) noexcept {
  return std::uint64_t{num_tokens} * first + std::uint64_t{num_tokens} * (num_tokens + 1) / 2;
}

struct Planner::Tick {
  Plan plan;
  std::vector<const PlannedSequence*> owners;  ///< Of the plan's rows.
  std::int64_t now_ns = 0;
  bool is_ahead = false;         ///< Another plan is under way: nothing is taken from anybody.
  bool waits_for_host = false;   ///< Somebody has no row for that reason.
  std::uint32_t budget = 0;      ///< Tokens that may still be given to rows.
  std::uint32_t slice = 0;       ///< The pass that is being filled,
  std::uint32_t slice_left = 0;  ///< and tokens that it still takes.
  std::uint64_t tokens = 0;      ///< Given to rows so far,
  std::uint64_t context = 0;     ///< with what they attend to.
  bool preempted = false;
  UnderWay under_way;               ///< What is to be remembered of the plan.
  std::vector<SequenceView> views;  ///< Of the running sequences, for the policies.
  std::uint32_t num_shared = 0;     ///< Pages that several of them hold.
  bool views_fresh = false;
  /// Of requests whose window is too small for all their choices: those that sample in this tick,
  /// with their numbers of tokens.
  std::unordered_map<SequenceId, std::vector<std::pair<std::uint32_t, SequenceId>>> served;
};

}  // namespace tickertape::actors
