// PagedMemory: pages that hold token ids where a real backend holds K and V.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include <tickertape/batch.hpp>

#include "kernels/fake/fake_law.hpp"

namespace tickertape::kernels::fake {

/// One token's room in a page. K and V of a token depend on its position and on all tokens before
/// it, so a place remembers both.
struct TokenPlace {
  TokenId id = -1;
  std::uint32_t position = 0;
  HistoryHash history;           ///< Of the tokens up to and including this one.
  std::uint64_t generation = 0;  ///< The pass that wrote it, from 1; 0 = never written.
  bool spoiled = false;          ///< Something that should have come here did not.
};

/// A pool of pages. Pages take memory when first written. Lane only.
class PagedMemory {
 public:
  PagedMemory(std::uint32_t num_pages, std::uint32_t page_size)
      : page_size_(page_size), pages_(num_pages) {}

  [[nodiscard]] std::uint32_t num_pages() const noexcept {
    return static_cast<std::uint32_t>(pages_.size());
  }
  [[nodiscard]] std::uint32_t page_size() const noexcept { return page_size_; }

  /// The place of `position` in a page table; nullptr when the table is too short or names a page
  /// that does not exist. A page never written reads as places never written.
  [[nodiscard]] const TokenPlace* find(std::span<const PageId> table,
                                       std::uint32_t position) const noexcept;
  [[nodiscard]] TokenPlace* find_for_write(std::span<const PageId> table, std::uint32_t position);

  /// Copies page `from` of this pool over page `to` of `target`. False when there is no such page.
  [[nodiscard]] bool copy_page(PageId from, PagedMemory& target, PageId to) const;

  /// A copy to this page failed: it holds anything. Pages that do not exist are let be.
  void spoil_page(PageId page);

 private:
  std::uint32_t page_size_;
  std::vector<std::vector<TokenPlace>> pages_;
};

}  // namespace tickertape::kernels::fake
