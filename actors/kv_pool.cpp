// KvPool: the book of pages.
#include <tickertape/kv_pool.hpp>

#include <algorithm>
#include <bit>

#include <tickertape/assert.hpp>

namespace tickertape {

KvPool::KvPool(KvPoolOptions options) : options_(options) {
  TICKERTAPE_ASSERT(options_.num_pages > 0);
  TICKERTAPE_ASSERT(std::has_single_bit(options_.page_size));
  free_.reserve(options_.num_pages);
  // Lowest pages first, so that a small load touches little memory.
  for (PageId page = options_.num_pages; page > 0; --page) free_.push_back(page - 1);
  references_.assign(options_.num_pages, 0);
}

PageId KvPool::take_free() {
  TICKERTAPE_ASSERT(!free_.empty());
  const PageId page = free_.back();
  free_.pop_back();
  TICKERTAPE_ASSERT(references_[page] == 0);
  references_[page] = 1;
  ++num_held_;
  return page;
}

bool KvPool::drop_reference(PageId page) {
  TICKERTAPE_ASSERT(references_[page] > 0);
  if (--references_[page] > 0) return false;
  free_.push_back(page);
  --num_held_;
  return true;
}

bool KvPool::grow(SequenceId owner, std::uint32_t num_tokens) {
  const std::uint32_t wanted = pages_for(num_tokens);
  const auto found = tables_.find(owner);
  const std::size_t have = found == tables_.end() ? 0 : found->second.size();
  if (wanted <= have) return true;
  if (wanted - have > free_.size()) return false;
  auto& table = found == tables_.end() ? tables_[owner] : found->second;
  while (table.size() < wanted) table.push_back(take_free());
  return true;
}

std::uint32_t KvPool::release(SequenceId owner) {
  const auto found = tables_.find(owner);
  if (found == tables_.end()) return 0;
  std::uint32_t freed = 0;
  // Last page first: the first pages are the ones handed out again first.
  for (auto page = found->second.rbegin(); page != found->second.rend(); ++page) {
    freed += drop_reference(*page) ? 1 : 0;
  }
  tables_.erase(found);
  return freed;
}

void KvPool::fork(SequenceId from, SequenceId to, std::uint32_t num_tokens) {
  TICKERTAPE_ASSERT(!tables_.contains(to));
  const auto found = tables_.find(from);
  TICKERTAPE_ASSERT(found != tables_.end());
  const std::uint32_t count = pages_for(num_tokens);
  TICKERTAPE_ASSERT(count <= found->second.size());
  std::vector<PageId> shared(found->second.begin(), found->second.begin() + count);
  for (const PageId page : shared) ++references_[page];
  tables_.emplace(to, std::move(shared));
}

bool KvPool::make_writable(SequenceId owner, std::uint32_t position,
                           std::optional<PageCopy>& copy) {
  copy.reset();
  auto& table = tables_.at(owner);
  PageId& page = table.at(position / options_.page_size);
  if (references_[page] == 1) return true;
  if (free_.empty()) return false;
  const PageId own = take_free();
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
    drop_reference(table.back());
    table.pop_back();
  }
  if (table.empty()) tables_.erase(found);
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
    for (const PageId page : table) ++counted.at(page);
  }
  TICKERTAPE_ASSERT(counted == references_);
  std::uint32_t held = 0;
  for (const std::uint32_t references : references_) held += references > 0 ? 1 : 0;
  TICKERTAPE_ASSERT(held == num_held_);
  std::vector<bool> is_free(options_.num_pages, false);
  for (const PageId page : free_) {
    TICKERTAPE_ASSERT(references_.at(page) == 0 && !is_free[page]);
    is_free[page] = true;
  }
}

}  // namespace tickertape
