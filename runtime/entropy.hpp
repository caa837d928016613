// random_seed: randomness from the system, for seeds that nobody chose.
#pragma once
#include <cstdint>

namespace tickertape::runtime {

/// At most 2^53 - 1, so that it survives a client that reads JSON numbers as doubles. Any thread.
[[nodiscard]] std::uint64_t random_seed();

}  // namespace tickertape::runtime
