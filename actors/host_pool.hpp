// HostPool: the places for swapped pages in host memory.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include <tickertape/assert.hpp>
#include <tickertape/kv_pool.hpp>

namespace tickertape::actors {

/// A bounded set of page numbers. A plain value.
class HostPool {
 public:
  explicit HostPool(std::uint32_t num_pages) : num_pages_(num_pages) {
    for (PageId page = num_pages; page > 0; --page) free_.push_back(page - 1);
  }

  /// REQUIRES: num_free() >= count.
  [[nodiscard]] std::vector<PageId> take(std::uint32_t count) {
    TICKERTAPE_ASSERT(count <= free_.size());
    std::vector<PageId> taken(free_.end() - count, free_.end());
    free_.resize(free_.size() - count);
    return taken;
  }
  void give_back(std::span<const PageId> pages) {
    free_.insert(free_.end(), pages.begin(), pages.end());
    TICKERTAPE_ASSERT(free_.size() <= num_pages_);
  }

  [[nodiscard]] std::uint32_t num_pages() const noexcept { return num_pages_; }
  [[nodiscard]] std::uint32_t num_free() const noexcept {
    return static_cast<std::uint32_t>(free_.size());
  }

 private:
  std::uint32_t num_pages_;
  std::vector<PageId> free_;
};

}  // namespace tickertape::actors
