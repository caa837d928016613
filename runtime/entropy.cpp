// random_seed: randomness from the system, for seeds that nobody chose.
#include "runtime/entropy.hpp"

#include <random>

namespace tickertape::runtime {

std::uint64_t random_seed() {
  thread_local std::random_device device;
  const std::uint64_t high = device();
  const std::uint64_t low = device();
  return ((high << 32) | low) >> 11;
}

}  // namespace tickertape::runtime
