// TICKERTAPE_ASSERT: a broken invariant is a bug of ours; it ends the process with one line.
#pragma once
#include <cstdio>
#include <cstdlib>

namespace tickertape::detail {
/// Prints one line and aborts. Active in every build: a server that has lost count of its pages
/// must not go on.
[[noreturn]] inline void assertion_failed(const char* what, const char* file, int line) {
  std::fprintf(stderr, "tickertape: %s:%d: assertion failed: %s\n", file, line, what);
  std::abort();
}
}  // namespace tickertape::detail

#define TICKERTAPE_ASSERT(condition)  \
  ((condition) ? static_cast<void>(0) \
               : ::tickertape::detail::assertion_failed(#condition, __FILE__, __LINE__))
