// PlanDigest: a plan in a few numbers, for comparing.
#include "actors/plan_digest.hpp"

#include <array>
#include <string_view>
#include <utility>

#include "actors/record_fields.hpp"

namespace tickertape::actors {
namespace {

/// FNV-1a over whole numbers, with the upper half folded in so that each bit reaches the lower
/// ones.
struct Hasher {
  std::uint64_t hash = 0xcbf29ce484222325ULL;

  template <class T>
  void operator()(const T& value) {
    hash = (hash ^ static_cast<std::uint64_t>(value)) * 0x100000001b3ULL;
    hash ^= hash >> 32U;
  }
  template <class T>
  void list(const std::vector<T>& values) {
    (*this)(values.size());
    for (const T& value : values) {
      if constexpr (std::integral<T>) {
        (*this)(value);
      } else {
        each_field(*this, value);
      }
    }
  }
};

}  // namespace

PlanDigest digest_of(const Plan& plan) {
  PlanDigest digest;
  digest.tick = plan.tick;
  digest.num_rows = plan.rows.size();
  for (const PlanRow& row : plan.rows) digest.num_tokens += row.num_tokens;
  digest.num_opened = plan.opened.size();
  digest.num_preempted = plan.preempted.size();
  digest.num_ended = plan.ended.size();
  Hasher hasher;
  hasher(plan.tick);
  hasher.list(plan.opened);
  hasher.list(plan.closed);
  hasher.list(plan.swap_out);
  hasher.list(plan.swap_in);
  hasher.list(plan.copies);
  hasher.list(plan.rows);
  hasher.list(plan.tables.offsets);
  hasher.list(plan.tables.pages);
  for (const GroupPlan& group : plan.windows) {
    hasher.list(group.swap_out);
    hasher.list(group.swap_in);
    hasher.list(group.copies);
    hasher.list(group.tables.offsets);
    hasher.list(group.tables.pages);
  }
  hasher.list(plan.preempted);
  hasher.list(plan.ended);
  hasher(plan.batch_ended);
  hasher(plan.wake_at_ns);
  digest.hash = hasher.hash;
  return digest;
}

std::string difference(const PlanDigest& recorded, const PlanDigest& now) {
  constexpr std::array<std::string_view, 6> kNames = {"tick",   "rows",      "tokens",
                                                      "opened", "preempted", "ended"};
  std::array<std::uint64_t, 6> was{};
  std::array<std::uint64_t, 6> is{};
  const auto fill = [](const PlanDigest& digest, std::array<std::uint64_t, 6>& numbers) {
    std::size_t next = 0;
    auto put = [&](std::uint64_t value) { numbers.at(next++) = value; };
    each_field(put, digest);
  };
  fill(recorded, was);
  fill(now, is);
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (was.at(i) == is.at(i)) continue;
    return std::string(kNames.at(i)) + " " + std::to_string(was.at(i)) + ", now " +
           std::to_string(is.at(i));
  }
  return "pages, positions or order of the rows";
}

}  // namespace tickertape::actors
