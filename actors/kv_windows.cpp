// KvWindows: who holds which page of the layer groups that have a sliding window.
#include "actors/kv_windows.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include <tickertape/assert.hpp>

namespace tickertape::actors {
namespace {

/// Whole prompts have no bound but the context.
std::uint64_t most_ahead(const PlannerOptions& options) {
  if (options.batching != Batching::chunked) return std::numeric_limits<std::uint32_t>::max();
  std::uint64_t most = options.max_num_batched_tokens;
  if (options.prefill_chunk > 0) most = std::min<std::uint64_t>(most, options.prefill_chunk);
  return most * options.most_plans_under_way();
}

/// Pages that `num_tokens` tokens in a row may touch. REQUIRES: num_tokens > 0.
std::uint64_t pages_touched(std::uint64_t num_tokens, std::uint32_t page_size) {
  return (num_tokens + page_size - 2) / page_size + 1;
}

/// Entries at the beginning that were given back.
std::uint32_t num_released(std::span<const PageId> table) {
  const auto first =
      std::partition_point(table.begin(), table.end(), [](PageId page) { return page == kNoPage; });
  return static_cast<std::uint32_t>(first - table.begin());
}

}  // namespace

std::uint64_t longest_sequence(const PlannerOptions& options) {
  const std::uint32_t page_size = options.pool.page_size;
  std::uint64_t longest = std::uint64_t{options.pool.num_pages} * page_size;
  for (const LayerGroup& group : options.windows) {
    const std::uint64_t most = pages_touched(group.window + most_ahead(options), page_size);
    if (most > group.num_pages) {
      longest = std::min(longest, std::uint64_t{group.num_pages} * page_size);
    }
  }
  return longest;
}

KvWindows::KvWindows(const PlannerOptions& options)
    : page_size_(options.pool.page_size),
      most_ahead_(most_ahead(options)),
      num_plans_(options.most_plans_under_way()) {
  for (const LayerGroup& group : options.windows) {
    TICKERTAPE_ASSERT(group.window > 0);
    groups_.push_back(Group{group.window, KvPool({group.num_pages, page_size_}),
                            HostPool(options.num_host_pages)});
  }
}

/// The page of the first token that the one at `position` sees.
std::uint32_t KvWindows::first_seen(const Group& group, std::uint32_t position) const {
  return position < group.window ? 0 : (position + 1 - group.window) / page_size_;
}

std::uint32_t KvWindows::most_pages(std::size_t group, const SequenceView& view) const {
  // Rows take what is known, and each that is planned ahead one token beyond.
  const std::uint64_t known = view.num_tokens - view.num_computed;
  const std::uint64_t ahead = std::min(most_ahead_, known + num_plans_ - 1);
  // From the token before the window on.
  const std::uint64_t pages = pages_touched(groups_[group].window + ahead, page_size_);
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(pages, pages_for(view.max_tokens, page_size_)));
}

bool KvWindows::fits(const SequenceView& candidate, std::span<const SequenceView> running) const {
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    std::uint64_t sum = most_pages(group, candidate);
    for (const SequenceView& view : running) sum += most_pages(group, view);
    if (sum > groups_[group].pool.options().num_pages) return false;
  }
  return true;
}

std::uint32_t KvWindows::num_available() const {
  std::uint32_t least = std::numeric_limits<std::uint32_t>::max();
  for (const Group& group : groups_) least = std::min(least, group.pool.num_available());
  return least;
}

void KvWindows::grow(SequenceId owner, std::uint32_t num_tokens) {
  for (Group& group : groups_) {
    const bool grown = group.pool.grow(owner, num_tokens);
    TICKERTAPE_ASSERT(grown);
  }
}

void KvWindows::release(SequenceId owner) {
  for (Group& group : groups_) group.pool.release(owner);
}

void KvWindows::release_behind(SequenceId owner, std::uint32_t num_computed) {
  if (num_computed == 0) return;
  for (Group& group : groups_) {
    group.pool.release_before(owner, first_seen(group, num_computed - 1));
  }
}

void KvWindows::name(SequenceId owner, std::uint32_t index, PageName name) {
  for (Group& group : groups_) group.pool.name(owner, index, name);
}

std::size_t KvWindows::num_found(std::span<const PageName> names) const {
  auto count = static_cast<std::uint32_t>(names.size());
  std::size_t num_agreed = 0;  // Groups one after the other that have what `count` needs.
  for (std::size_t at = 0; num_agreed < groups_.size(); at = (at + 1) % groups_.size()) {
    const Group& group = groups_[at];
    ++num_agreed;
    std::uint32_t i = count;
    while (i > first_seen(group, count * page_size_)) {
      if (group.pool.has(names[--i])) continue;
      // Whatever needs page i does not help; less may.
      count = i;
      num_agreed = 1;
    }
  }
  return count;
}

void KvWindows::attach(SequenceId owner, std::span<const PageName> names) {
  for (Group& group : groups_) {
    const auto count = static_cast<std::uint32_t>(names.size());
    const std::uint32_t first = first_seen(group, count * page_size_);
    group.pool.attach(owner, names.subspan(first), first);
  }
}

bool KvWindows::can_fork(SequenceId from, std::uint32_t num_tokens) const {
  return std::all_of(groups_.begin(), groups_.end(), [&](const Group& group) {
    return num_released(group.pool.pages(from)) <= first_seen(group, num_tokens);
  });
}

void KvWindows::fork(SequenceId from, SequenceId to, std::uint32_t num_tokens, Plan& plan) {
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    KvPool& pool = groups_[i].pool;
    pool.fork(from, to, num_tokens, first_seen(groups_[i], num_tokens));
    if (num_tokens % page_size_ == 0) continue;
    std::optional<PageCopy> copy;
    const bool has_own = pool.make_writable(to, num_tokens, copy);
    TICKERTAPE_ASSERT(has_own && copy);
    plan.windows[i].copies.push_back(*copy);
  }
}

std::uint32_t KvWindows::num_to_swap(std::uint32_t num_computed) const {
  std::uint32_t sum = 0;
  for (const Group& group : groups_) {
    sum += pages_for(num_computed, page_size_) - first_seen(group, num_computed);
  }
  return sum;
}

bool KvWindows::has_host_room(std::uint32_t num_computed) const {
  return std::all_of(groups_.begin(), groups_.end(), [&](const Group& group) {
    return pages_for(num_computed, page_size_) - first_seen(group, num_computed) <=
           group.host.num_free();
  });
}

void KvWindows::swap_out(SequenceId owner, SwappedOut& swapped, Plan& plan) {
  swapped.windows.resize(groups_.size());
  const std::uint32_t num_used = pages_for(swapped.num_computed, page_size_);
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    Group& group = groups_[i];
    const std::uint32_t first = first_seen(group, swapped.num_computed);
    swapped.windows[i] = group.host.take(num_used - first);
    const std::span<const PageId> table = group.pool.pages(owner).subspan(first);
    for (std::size_t k = 0; k < swapped.windows[i].size(); ++k) {
      plan.windows[i].swap_out.push_back(PageCopy{table[k], swapped.windows[i][k]});
    }
  }
}

void KvWindows::swap_in(SequenceId owner, const SwappedOut& swapped, Plan& plan) {
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    Group& group = groups_[i];
    const std::uint32_t first = first_seen(group, swapped.num_computed);
    group.pool.attach(owner, {}, first);
    const bool grown = group.pool.grow(owner, swapped.num_computed);
    TICKERTAPE_ASSERT(grown);
    const std::span<const PageId> table = group.pool.pages(owner).subspan(first);
    for (std::size_t k = 0; k < swapped.windows[i].size(); ++k) {
      plan.windows[i].swap_in.push_back(PageCopy{swapped.windows[i][k], table[k]});
    }
  }
}

void KvWindows::give_back(const SwappedOut& swapped) {
  for (std::size_t i = 0; i < swapped.windows.size(); ++i) {
    groups_[i].host.give_back(swapped.windows[i]);
  }
}

void KvWindows::add_tables(SequenceId owner, Plan& plan) const {
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    const std::span<const PageId> table = groups_[i].pool.pages(owner);
    PageTables& tables = plan.windows[i].tables;
    tables.pages.insert(tables.pages.end(), table.begin(), table.end());
    tables.offsets.push_back(static_cast<std::uint32_t>(tables.pages.size()));
  }
}

std::uint32_t KvWindows::num_held() const {
  std::uint32_t sum = 0;
  for (const Group& group : groups_) sum += group.pool.num_held();
  return sum;
}

std::uint64_t KvWindows::num_pages_of(SequenceId owner) const {
  std::uint64_t sum = 0;
  for (const Group& group : groups_) {
    const std::span<const PageId> table = group.pool.pages(owner);
    sum += table.size() - num_released(table);
  }
  return sum;
}

std::uint64_t KvWindows::num_tokens_of(SequenceId owner, std::uint32_t num_computed) const {
  std::uint64_t sum = 0;
  for (const Group& group : groups_) {
    sum += num_computed - num_released(group.pool.pages(owner)) * page_size_;
  }
  return sum;
}

void KvWindows::add_to(EngineStats& stats) const {
  for (const Group& group : groups_) {
    stats.pages_total += group.pool.options().num_pages;
    stats.pages_free += group.pool.num_free();
    stats.pages_cached += group.pool.num_cached();
    stats.pages_held += group.pool.num_held();
    stats.held_places += std::uint64_t{group.pool.num_held()} * page_size_;
    stats.host_pages_total += group.host.num_pages();
    stats.host_pages_free += group.host.num_free();
  }
}

}  // namespace tickertape::actors
