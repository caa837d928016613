// MemoryRegion: anonymous memory that costs nothing until it is written.
#pragma once
#include <cstddef>
#include <string_view>

namespace tickertape::kernels::cpu {

/// Zeroed, page-aligned, backed by huge pages where the system has them. Moves, does not copy.
class MemoryRegion {
 public:
  MemoryRegion() = default;
  /// Throws Error(Errc::invalid_request) naming `what` when the system has no room.
  MemoryRegion(std::size_t size_bytes, std::string_view what);
  ~MemoryRegion();
  MemoryRegion(MemoryRegion&& other) noexcept;
  MemoryRegion& operator=(MemoryRegion&& other) noexcept;

  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace tickertape::kernels::cpu
