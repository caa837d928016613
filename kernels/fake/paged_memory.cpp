// Pages of token ids.
#include "kernels/fake/paged_memory.hpp"

namespace tickertape::kernels::fake {

const TokenPlace* PagedMemory::find(std::span<const PageId> table,
                                    std::uint32_t position) const noexcept {
  static constexpr TokenPlace kNeverWritten;
  const std::uint32_t index = position / page_size_;
  if (index >= table.size() || table[index] >= pages_.size()) return nullptr;
  const std::vector<TokenPlace>& page = pages_[table[index]];
  return page.empty() ? &kNeverWritten : &page[position % page_size_];
}

TokenPlace* PagedMemory::find_for_write(std::span<const PageId> table, std::uint32_t position) {
  const std::uint32_t index = position / page_size_;
  if (index >= table.size() || table[index] >= pages_.size()) return nullptr;
  std::vector<TokenPlace>& page = pages_[table[index]];
  if (page.empty()) page.resize(page_size_);
  return &page[position % page_size_];
}

bool PagedMemory::copy_page(PageId from, PagedMemory& target, PageId to) const {
  if (from >= pages_.size() || to >= target.pages_.size()) return false;
  if (this != &target || from != to) target.pages_[to] = pages_[from];
  return true;
}

void PagedMemory::spoil_page(PageId page) {
  if (page >= pages_.size()) return;
  TokenPlace place;
  place.spoiled = true;
  pages_[page].assign(page_size_, place);
}

}  // namespace tickertape::kernels::fake
