// Prefetch: asks for memory that is touched soon.
#pragma once
#include <cstddef>

namespace tickertape::actors {

/// The cache lines of `bytes` bytes from `address`, and of `before` bytes before it.
inline void prefetch_lines(const void* address, std::size_t bytes,
                           std::size_t before = 0) noexcept {
  constexpr std::size_t kLine = 64;
  const char* const at = static_cast<const char*>(address);
  for (const char* line = at - before; line < at + bytes; line += kLine) {
    __builtin_prefetch(line, 1);
  }
}

}  // namespace tickertape::actors
