// fail_allocation(): makes one `new` of a thread throw. The program links failing_new.cpp.
#pragma once
#include <cstdint>

namespace tickertape::test {

/// The calling thread's `new` number `number` from now on throws std::bad_alloc, once; 0: none
/// does. Says whether the one asked for before was reached.
bool fail_allocation(std::uint64_t number) noexcept;

}  // namespace tickertape::test
