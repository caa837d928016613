// Copies between pages.
#include "kernels/cpu/kv_pages.hpp"

#include <cstring>
#include <tickertape/assert.hpp>

namespace tickertape::kernels::cpu {
namespace {

struct Side {
  const MemoryRegion& region;
  std::uint32_t num_pages;
};

void move_pages(std::span<const PageMove> moves, Side from, Side to, std::size_t page_bytes) {
  for (const PageMove& move : moves) {
    TICKERTAPE_ASSERT(move.group == 0 && move.from < from.num_pages && move.to < to.num_pages);
    std::memmove(to.region.data() + move.to * page_bytes,
                 from.region.data() + move.from * page_bytes, page_bytes);
  }
}

}  // namespace

KvPages::KvPages(const PageLayout& layout, std::uint32_t num_pages, std::uint32_t num_host_pages)
    : layout_(layout),
      num_pages_(num_pages),
      num_host_pages_(num_host_pages),
      pages_(layout.page_bytes() * num_pages, "kv_cache_memory"),
      host_pages_(layout.page_bytes() * num_host_pages, "num_host_pages") {}

void KvPages::copy(std::span<const PageMove> moves) noexcept {
  const Side pages{pages_, num_pages_};
  move_pages(moves, pages, pages, layout_.page_bytes());
}

void KvPages::swap_out(std::span<const PageMove> moves) noexcept {
  move_pages(moves, {pages_, num_pages_}, {host_pages_, num_host_pages_}, layout_.page_bytes());
}

void KvPages::swap_in(std::span<const PageMove> moves) noexcept {
  move_pages(moves, {host_pages_, num_host_pages_}, {pages_, num_pages_}, layout_.page_bytes());
}

}  // namespace tickertape::kernels::cpu
