// KvPool: the book of pages.
#include <tickertape/kv_pool.hpp>

#include <algorithm>
#include <bit>
#include <utility>

#include <tickertape/assert.hpp>

namespace tickertape {

KvPool::KvPool(KvPoolOptions options) : options_(options) {
  TICKERTAPE_ASSERT(options_.num_pages > 0);
  TICKERTAPE_ASSERT(std::has_single_bit(options_.page_size));
  free_.reserve(options_.num_pages);
  // Lowest pages first, so that a small load touches little memory.
  for (PageId page = options_.num_pages; page > 0; --page) free_.push_back(page - 1);
  pages_.resize(options_.num_pages);
}

/// A free page, else the cached one that was held longest ago. REQUIRES: num_available() > 0.
PageId KvPool::take_page() {
  PageId page = kNoPage;
  if (!free_.empty()) {
    page = free_.back();
    free_.pop_back();
  } else {
    page = oldest_;
    TICKERTAPE_ASSERT(page != kNoPage);
    unlink(page);
    forget_name(page);
  }
  TICKERTAPE_ASSERT(pages_[page].references == 0 && pages_[page].name == 0);
  pages_[page].references = 1;
  ++num_held_;
  return page;
}

void KvPool::hold(PageId page) {
  if (pages_[page].references++ > 0) return;
  unlink(page);
  ++num_held_;
}

bool KvPool::drop_reference(PageId page) {
  Page& entry = pages_[page];
  TICKERTAPE_ASSERT(entry.references > 0);
  if (--entry.references > 0) return false;
  --num_held_;
  if (entry.name == 0) {
    free_.push_back(page);
    return true;
  }
  entry.before = newest_;
  entry.behind = kNoPage;
  (newest_ == kNoPage ? oldest_ : pages_[newest_].behind) = page;
  newest_ = page;
  ++num_cached_;
  return true;
}

/// Out of the list of cached pages.
void KvPool::unlink(PageId page) {
  Page& entry = pages_[page];
  (entry.before == kNoPage ? oldest_ : pages_[entry.before].behind) = entry.behind;
  (entry.behind == kNoPage ? newest_ : pages_[entry.behind].before) = entry.before;
  entry.before = kNoPage;
  entry.behind = kNoPage;
  --num_cached_;
}

void KvPool::forget_name(PageId page) {
  const PageName name = std::exchange(pages_[page].name, 0);
  if (name == 0) return;
  named_.erase(name);
  changes_.dropped.push_back(name);
}

bool KvPool::grow(SequenceId owner, std::uint32_t num_tokens) {
  const std::uint32_t wanted = pages_for(num_tokens);
  const auto found = tables_.find(owner);
  const std::size_t have = found == tables_.end() ? 0 : found->second.size();
  if (wanted <= have) return true;
  if (wanted - have > num_available()) return false;
  auto& table = found == tables_.end() ? tables_[owner] : found->second;
  table.reserve(wanted);
  while (table.size() < wanted) table.push_back(take_page());
  return true;
}

std::uint32_t KvPool::release(SequenceId owner) {
  const auto found = tables_.find(owner);
  if (found == tables_.end()) return 0;
  std::uint32_t freed = 0;
  // Last page first: the first pages are the ones handed out again first, and of cached pages the
  // head, which others may share, outlives the tail.
  for (auto page = found->second.rbegin(); page != found->second.rend(); ++page) {
    if (*page == kNoPage) break;  // Nor any before it.
    freed += drop_reference(*page) ? 1 : 0;
  }
  tables_.erase(found);
  return freed;
}

void KvPool::release_before(SequenceId owner, std::uint32_t index) {
  auto& table = tables_.at(owner);
  TICKERTAPE_ASSERT(index <= table.size());
  for (std::uint32_t i = index; i > 0 && table[i - 1] != kNoPage; --i) {
    drop_reference(std::exchange(table[i - 1], kNoPage));
  }
}

void KvPool::fork(SequenceId from, SequenceId to, std::uint32_t num_tokens, std::uint32_t first) {
  TICKERTAPE_ASSERT(!tables_.contains(to));
  const auto found = tables_.find(from);
  TICKERTAPE_ASSERT(found != tables_.end());
  const std::uint32_t count = pages_for(num_tokens);
  TICKERTAPE_ASSERT(first <= count && count <= found->second.size());
  TICKERTAPE_ASSERT(first == count || found->second[first] != kNoPage);
  std::vector<PageId> shared(first, kNoPage);
  shared.insert(shared.end(), found->second.begin() + first, found->second.begin() + count);
  for (const PageId page : std::span(shared).subspan(first)) hold(page);
  tables_.emplace(to, std::move(shared));
}

bool KvPool::make_writable(SequenceId owner, std::uint32_t position,
                           std::optional<PageCopy>& copy) {
  copy.reset();
  auto& table = tables_.at(owner);
  PageId& page = table.at(position / options_.page_size);
  TICKERTAPE_ASSERT(page != kNoPage);
  if (pages_[page].references == 1 && pages_[page].name == 0) return true;
  if (num_available() == 0) return false;
  const PageId own = take_page();
  copy = PageCopy{page, own};
  drop_reference(page);
  page = own;
  return true;
}

void KvPool::truncate(SequenceId owner, std::uint32_t num_tokens) {
  const auto found = tables_.find(owner);
  if (found == tables_.end()) return;
  auto& table = found->second;
  const std::uint32_t keep = pages_for(num_tokens);
  while (table.size() > keep) {
    if (table.back() != kNoPage) drop_reference(table.back());
    table.pop_back();
  }
  if (table.empty()) tables_.erase(found);
}

void KvPool::name(SequenceId owner, std::uint32_t index, PageName name) {
  TICKERTAPE_ASSERT(name != 0);
  const PageId page = tables_.at(owner).at(index);
  if (page == kNoPage || pages_[page].name != 0 || !named_.emplace(name, page).second) return;
  pages_[page].name = name;
  changes_.added.push_back(name);
}

KvPool::Match KvPool::match(std::span<const PageName> names) const {
  Match match;
  for (const PageName name : names) {
    const auto found = named_.find(name);
    if (found == named_.end()) break;
    ++match.num_pages;
    match.num_cached += pages_[found->second].references == 0 ? 1 : 0;
  }
  return match;
}

void KvPool::attach(SequenceId owner, std::span<const PageName> names, std::uint32_t first) {
  TICKERTAPE_ASSERT(!tables_.contains(owner));
  if (names.empty() && first == 0) return;
  std::vector<PageId> table(first, kNoPage);
  table.reserve(first + names.size());
  for (const PageName name : names) table.push_back(named_.at(name));
  for (const PageId page : std::span(table).subspan(first)) hold(page);
  tables_.emplace(owner, std::move(table));
}

KvPool::NameChanges KvPool::take_name_changes() {
  return std::exchange(changes_, NameChanges());
}

std::span<const PageId> KvPool::pages(SequenceId owner) const {
  const auto found = tables_.find(owner);
  if (found == tables_.end()) return {};
  return found->second;
}

void KvPool::check() const {
  TICKERTAPE_ASSERT(num_free() + num_cached() + num_held() == options_.num_pages);
  std::vector<std::uint32_t> counted(options_.num_pages, 0);
  for (const auto& [owner, table] : tables_) {
    TICKERTAPE_ASSERT(!table.empty());
    const auto first =
        std::find_if(table.begin(), table.end(), [](PageId page) { return page != kNoPage; });
    for (const PageId page : std::span(first, table.end())) ++counted.at(page);
  }
  std::uint32_t held = 0;
  std::uint32_t cached = 0;
  std::size_t num_named = 0;
  for (PageId page = 0; page < options_.num_pages; ++page) {
    const Page& entry = pages_[page];
    TICKERTAPE_ASSERT(counted[page] == entry.references);
    held += entry.references > 0 ? 1 : 0;
    cached += entry.references == 0 && entry.name != 0 ? 1 : 0;
    if (entry.name == 0) continue;
    ++num_named;
    TICKERTAPE_ASSERT(named_.at(entry.name) == page);
  }
  TICKERTAPE_ASSERT(held == num_held_ && cached == num_cached_ && num_named == named_.size());
  std::vector<bool> is_free(options_.num_pages, false);
  for (const PageId page : free_) {
    TICKERTAPE_ASSERT(pages_.at(page).references == 0 && pages_[page].name == 0 && !is_free[page]);
    is_free[page] = true;
  }
  std::uint32_t listed = 0;
  PageId before = kNoPage;
  for (PageId page = oldest_; page != kNoPage; before = page, page = pages_[page].behind) {
    const Page& entry = pages_[page];
    TICKERTAPE_ASSERT(entry.references == 0 && entry.name != 0 && entry.before == before);
    ++listed;
  }
  TICKERTAPE_ASSERT(before == newest_ && listed == num_cached_);
}

}  // namespace tickertape
