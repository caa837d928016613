// PlannedRequest and PlannedSequence: what planning keeps of them.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include <tickertape/kv_pool.hpp>
#include <tickertape/policy.hpp>

namespace tickertape::actors {

/// A request as planning sees it: what its choices share.
struct PlannedRequest {
  std::uint32_t num_choices = 1;
  std::uint32_t num_left = 0;       ///< Choices that have not ended.
  std::vector<SequenceId> running;  ///< Choices that run, lowest first.
  std::uint64_t granted = 0;        ///< Tokens that the reader allows in all.
  std::uint64_t emitted = 0;        ///< Tokens sampled and delivered.
  std::uint64_t in_flight = 0;      ///< Rows under way that sample: they count against the window.

  /// For one more row, beside those under way.
  [[nodiscard]] bool has_credit() const noexcept { return granted > emitted + in_flight; }
  /// For more than was delivered: rows under way may yet come to nothing.
  [[nodiscard]] bool is_open() const noexcept { return granted > emitted; }
};

/// Where a sequence is while it has no pages on the device.
struct SwappedOut {
  std::vector<PageId> pages;      ///< On the host, in token order; empty = nothing is there.
  std::uint32_t first_index = 0;  ///< Pages before this one are to be found by their names.
  std::uint32_t num_computed = 0;
  /// Pages of each further layer group: what its window still shows.
  std::vector<std::vector<PageId>> windows;

  [[nodiscard]] std::uint32_t num_pages() const noexcept {
    std::size_t sum = pages.size();
    for (const std::vector<PageId>& window : windows) sum += window.size();
    return static_cast<std::uint32_t>(sum);
  }
};

/// What a plan under way computes of a sequence.
struct Flight {
  std::uint32_t num_rows = 0;    ///< That are not done yet: one, or the pieces of a cut one.
  std::uint32_t num_tokens = 0;  ///< In all of them.
  bool samples = false;
};

/// A sequence (one choice of a request) as planning sees it.
struct PlannedSequence {
  SequenceView view;
  SequenceId first = 0;               ///< The request: the id of its choice 0.
  PlannedRequest* request = nullptr;  ///< Stays where it is.
  bool running = false;
  SlotId slot = 0;
  std::vector<Flight> flights;     ///< Of the plans under way that have rows of it, oldest first.
  std::uint64_t last_planned = 0;  ///< The call of make_plan() that last gave it a row.
  std::uint32_t num_moves = 0;     ///< Plans that copy or swap its pages, and are not done.
  bool needs_host = false;         ///< A row of it is made of what the host saw of the one before.
  bool ending = false;    ///< Ended while in flight: its pages are fenced until that is over.
  bool ended = false;     ///< By a row that is done, while others are still to come.
  bool finished = false;  ///< Its end was told; it keeps its place in a static batch.
  std::uint32_t num_filler = 0;  ///< Tokens computed for it since, for nothing.
  bool scores_prompt = false;
  std::uint32_t num_scored = 0;
  std::uint32_t num_lost = 0;     ///< Tokens whose K and V its preemption threw away.
  std::span<const PageId> table;  ///< Its pages; refreshed whenever they change.
  std::vector<PageName> names;    ///< Of its full pages, as far as known.
  std::uint32_t num_named = 0;    ///< Pages, from the first on, whose name the pool was told.
  SwappedOut swapped;

  [[nodiscard]] bool in_flight() const noexcept { return !flights.empty(); }
  /// Where its next row begins,
  [[nodiscard]] std::uint32_t next_position() const noexcept {
    std::uint32_t position = view.num_computed;
    for (const Flight& flight : flights) position += flight.num_tokens;
    return position;
  }
  /// and how many tokens there are by then.
  [[nodiscard]] std::uint32_t next_num_tokens() const noexcept {
    return view.num_tokens + num_sampling();
  }
  /// Rows under way that sample.
  [[nodiscard]] std::uint32_t num_sampling() const noexcept {
    std::uint32_t count = 0;
    for (const Flight& flight : flights) count += flight.samples ? 1 : 0;
    return count;
  }
  /// What is under way is all that it gets.
  [[nodiscard]] bool is_last_under_way() const noexcept {
    return next_position() >= next_num_tokens() ||
           (num_sampling() > 0 && next_num_tokens() >= view.max_tokens);
  }
  /// Its next row depends on what the host does with those under way.
  [[nodiscard]] bool waits_for_host() const noexcept {
    return in_flight() && (needs_host || has_scores_to_give());
  }

  /// The prompt's log-probabilities are still to be given: it has to be computed here.
  [[nodiscard]] bool has_scores_to_give() const noexcept {
    return scores_prompt && num_scored + 1 < view.prompt_tokens;
  }
};

}  // namespace tickertape::actors
