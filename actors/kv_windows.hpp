// KvWindows: who holds which page of the layer groups that have a sliding window.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include <tickertape/kv_pool.hpp>
#include <tickertape/policy.hpp>
#include <tickertape/stats.hpp>

#include "actors/host_pool.hpp"
#include "actors/plan.hpp"
#include "actors/planned.hpp"
#include "actors/planner_options.hpp"

namespace tickertape::actors {

/// Tokens of the longest sequence that the pools of all layer groups can hold alone.
[[nodiscard]] std::uint64_t longest_sequence(const PlannerOptions& options);

/// The books of pages of the layer groups beside the first one, which has a book of its own. Of
/// each sequence they hold what its next row sees, one token more, so that a sibling may still fork
/// the prompt that was just computed, and what rows under way write.
///
/// For everybody who runs there is room for the most that it may come to hold (fits): once admitted
/// nobody waits for such a page, or loses its place for one.
///
/// Thread rules: the lane. A plain value.
class KvWindows {
 public:
  explicit KvWindows(const PlannerOptions& options);

  [[nodiscard]] std::size_t size() const noexcept { return groups_.size(); }
  [[nodiscard]] const KvPool& pool(std::size_t group) const { return groups_.at(group).pool; }
  [[nodiscard]] const HostPool& host_pool(std::size_t group) const {
    return groups_.at(group).host;
  }

  /// The most pages of a group that it may still come to hold; only less as it goes on.
  [[nodiscard]] std::uint32_t most_pages(std::size_t group, const SequenceView& view) const;
  /// Whether the candidate's most have room beside those of the running ones.
  [[nodiscard]] bool fits(const SequenceView& candidate,
                          std::span<const SequenceView> running) const;
  /// Pages that every group can give now.
  [[nodiscard]] std::uint32_t num_available() const;

  /// Pages for the first `num_tokens` tokens, but for those given back. REQUIRES: it fits.
  void grow(SequenceId owner, std::uint32_t num_tokens);
  void release(SequenceId owner);
  /// Gives back what no row sees that begins at `num_computed`, or one token before.
  void release_behind(SequenceId owner, std::uint32_t num_computed);

  void name(SequenceId owner, std::uint32_t index, PageName name);
  /// The most of these pages that are there as far as a row behind them sees them.
  [[nodiscard]] std::size_t num_found(std::span<const PageName> names) const;
  /// `owner` takes what a row behind these pages sees. REQUIRES: num_found() is all of them.
  void attach(SequenceId owner, std::span<const PageName> names);

  /// Whether `from` still has what a row sees that begins at `num_tokens`.
  [[nodiscard]] bool can_fork(SequenceId from, std::uint32_t num_tokens) const;
  /// Shares that, and gives `to` a page of its own for what it writes next.
  void fork(SequenceId from, SequenceId to, std::uint32_t num_tokens, Plan& plan);

  /// Pages that move when a sequence with `num_computed` tokens goes to the host.
  [[nodiscard]] std::uint32_t num_to_swap(std::uint32_t num_computed) const;
  [[nodiscard]] bool has_host_room(std::uint32_t num_computed) const;
  void swap_out(SequenceId owner, SwappedOut& swapped, Plan& plan);
  void swap_in(SequenceId owner, const SwappedOut& swapped, Plan& plan);
  /// The host pages of one that was swapped out.
  void give_back(const SwappedOut& swapped);

  /// Appends the tables of `owner` to those of a plan.
  void add_tables(SequenceId owner, Plan& plan) const;

  [[nodiscard]] std::uint32_t num_held() const;
  /// Entries of its tables that are pages,
  [[nodiscard]] std::uint64_t num_pages_of(SequenceId owner) const;
  /// and of the first `num_computed` tokens those that lie in them, summed over the groups.
  [[nodiscard]] std::uint64_t num_tokens_of(SequenceId owner, std::uint32_t num_computed) const;
  void add_to(EngineStats& stats) const;

 private:
  struct Group {
    std::uint32_t window = 0;
    KvPool pool;
    HostPool host;
  };

  [[nodiscard]] std::uint32_t first_seen(const Group& group, std::uint32_t position) const;

  std::uint32_t page_size_;
  std::uint64_t
      most_ahead_;           ///< Tokens of one sequence that rows under way and the next may cover.
  std::uint32_t num_plans_;  ///< That may be under way.
  std::vector<Group> groups_;
};

}  // namespace tickertape::actors
