// Replaces `new` and `delete` of the program, so that a test chooses which allocation fails.
#include "tests/support/failing_new.hpp"

#include <cstdlib>
#include <new>

namespace tickertape::test {
namespace {

thread_local std::uint64_t left = 0;  // Allocations until one fails, that one included.
thread_local bool reached = false;

bool fails() noexcept {
  if (left == 0 || --left > 0) return false;
  reached = true;
  return true;
}

}  // namespace

bool fail_allocation(std::uint64_t number) noexcept {
  const bool was_reached = reached;
  left = number;
  reached = false;
  return was_reached;
}

namespace {

void* allocate(std::size_t size) {
  void* const memory = fails() ? nullptr : std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void* allocate(std::size_t size, std::align_val_t alignment) {
  const auto align = static_cast<std::size_t>(alignment);
  const std::size_t rounded = (size + align - 1) / align * align;
  void* const memory = fails() ? nullptr : std::aligned_alloc(align, rounded);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace
}  // namespace tickertape::test

// The other forms call these.
void* operator new(std::size_t size) {
  return tickertape::test::allocate(size);
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  return tickertape::test::allocate(size, alignment);
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
