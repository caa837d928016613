// MemoryRegion over mmap.
#include "kernels/cpu/memory_region.hpp"

#include <sys/mman.h>

#include <string>
#include <tickertape/errors.hpp>
#include <utility>

namespace tickertape::kernels::cpu {

MemoryRegion::MemoryRegion(std::size_t size_bytes, std::string_view what) : size_(size_bytes) {
  if (size_ == 0) return;
  void* memory = mmap(nullptr, size_, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    throw Error(Errc::invalid_request,
                std::string(what) + ": no room for " + std::to_string(size_) + " bytes");
  }
  data_ = static_cast<std::byte*>(memory);
  madvise(memory, size_, MADV_HUGEPAGE);  // a wish: failure changes speed only
}

MemoryRegion::~MemoryRegion() {
  if (data_ != nullptr) munmap(data_, size_);
}

MemoryRegion::MemoryRegion(MemoryRegion&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MemoryRegion& MemoryRegion::operator=(MemoryRegion&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

}  // namespace tickertape::kernels::cpu
