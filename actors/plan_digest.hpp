// PlanDigest: a plan in a few numbers, for comparing.
#pragma once
#include <concepts>
#include <cstdint>
#include <string>
#include <type_traits>

#include "actors/plan.hpp"

namespace tickertape::actors {

struct PlanDigest {
  std::uint64_t tick = 0;
  std::uint64_t num_rows = 0;
  std::uint64_t num_tokens = 0;
  std::uint64_t num_opened = 0;
  std::uint64_t num_preempted = 0;
  std::uint64_t num_ended = 0;
  std::uint64_t hash = 0;  ///< Of every field of the plan.
  friend bool operator==(const PlanDigest&, const PlanDigest&) = default;
};

template <class Visit, class T>
  requires std::same_as<std::remove_const_t<T>, PlanDigest>
void each_field(Visit& visit, T& digest) {
  visit(digest.tick);
  visit(digest.num_rows);
  visit(digest.num_tokens);
  visit(digest.num_opened);
  visit(digest.num_preempted);
  visit(digest.num_ended);
}

[[nodiscard]] PlanDigest digest_of(const Plan& plan);

/// In words: the first thing that differs, as "rows 3, now 4". REQUIRES: they differ.
[[nodiscard]] std::string difference(const PlanDigest& recorded, const PlanDigest& now);

}  // namespace tickertape::actors
