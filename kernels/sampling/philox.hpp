// Philox: random numbers computed from a counter and a key, without state.
#pragma once
#include <array>
#include <cstdint>

namespace tickertape::kernels::sampling {

using PhiloxCounter = std::array<std::uint32_t, 4>;
using PhiloxKey = std::array<std::uint32_t, 2>;

/// Philox4x32 with ten rounds: J. K. Salmon, M. A. Moraes, R. O. Dror and D. E. Shaw, "Parallel
/// random numbers: as easy as 1, 2, 3", SC 2011, section 3.3. Any thread; no state.
[[nodiscard]] constexpr PhiloxCounter philox4x32(PhiloxCounter counter, PhiloxKey key) noexcept {
  constexpr std::uint64_t kMultiplier0 = 0xD2511F53U;
  constexpr std::uint64_t kMultiplier1 = 0xCD9E8D57U;
  constexpr std::uint32_t kWeyl0 = 0x9E3779B9U;  // The golden ratio.
  constexpr std::uint32_t kWeyl1 = 0xBB67AE85U;  // The square root of 3, less 1.
  constexpr int kNumRounds = 10;
  for (int round = 0; round < kNumRounds; ++round) {
    const std::uint64_t product0 = kMultiplier0 * counter[0];
    const std::uint64_t product1 = kMultiplier1 * counter[2];
    counter = {static_cast<std::uint32_t>(product1 >> 32) ^ counter[1] ^ key[0],
               static_cast<std::uint32_t>(product1),
               static_cast<std::uint32_t>(product0 >> 32) ^ counter[3] ^ key[1],
               static_cast<std::uint32_t>(product0)};
    key[0] += kWeyl0;
    key[1] += kWeyl1;
  }
  return counter;
}

/// A uniform number in (0, 1], a multiple of 2^-53, for one token of one choice of a request.
[[nodiscard]] constexpr double philox_uniform(std::uint64_t seed, std::uint32_t choice,
                                              std::uint64_t position) noexcept {
  const PhiloxCounter bits = philox4x32(
      {static_cast<std::uint32_t>(position), static_cast<std::uint32_t>(position >> 32), choice, 0},
      {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
  const std::uint64_t word = (static_cast<std::uint64_t>(bits[1]) << 32) | bits[0];
  return static_cast<double>((word >> 11) + 1) * 0x1p-53;
}

}  // namespace tickertape::kernels::sampling
