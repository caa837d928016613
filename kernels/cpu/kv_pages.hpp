// KvPages: the memory of the KV pool, on the device's side and for swapped pages.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include <tickertape/backend.hpp>
#include <tickertape/options.hpp>

#include "kernels/cpu/kernel_table.hpp"
#include "kernels/cpu/memory_region.hpp"

namespace tickertape::kernels::cpu {

/// What a page holds, from the outside in: layer, key/value head, keys then values, token, number.
struct PageLayout {
  KvType type = KvType::f16;
  std::uint32_t page_size = 16;  ///< Tokens; a power of two.
  std::uint32_t num_layers = 0;
  std::uint32_t num_kv_heads = 0;
  std::uint32_t head_size = 0;

  /// Keys (or values) of one layer and head.
  [[nodiscard]] std::size_t part_bytes() const noexcept {
    return std::size_t{page_size} * head_size * kv_type_bytes(type);
  }
  [[nodiscard]] std::size_t page_bytes() const noexcept {
    return 2 * part_bytes() * num_kv_heads * num_layers;
  }
  [[nodiscard]] std::size_t keys_offset(std::uint32_t layer, std::uint32_t kv_head) const noexcept {
    return 2 * part_bytes() * (std::size_t{layer} * num_kv_heads + kv_head);
  }
};

class KvPages {
 public:
  /// Throws Error(Errc::invalid_request) when the system has no room for the pages.
  KvPages(const PageLayout& layout, std::uint32_t num_pages, std::uint32_t num_host_pages);

  [[nodiscard]] const PageLayout& layout() const noexcept { return layout_; }
  [[nodiscard]] std::uint32_t num_pages() const noexcept { return num_pages_; }
  /// Keys of one layer and head in a page; the values follow after part_bytes().
  [[nodiscard]] std::byte* keys(PageId page, std::uint32_t layer,
                                std::uint32_t kv_head) const noexcept {
    return pages_.data() + page * layout_.page_bytes() + layout_.keys_offset(layer, kv_head);
  }

  void copy(std::span<const PageMove> moves) noexcept;
  void swap_out(std::span<const PageMove> moves) noexcept;
  void swap_in(std::span<const PageMove> moves) noexcept;

 private:
  PageLayout layout_;
  std::uint32_t num_pages_;
  std::uint32_t num_host_pages_;
  MemoryRegion pages_;
  MemoryRegion host_pages_;
};

}  // namespace tickertape::kernels::cpu
