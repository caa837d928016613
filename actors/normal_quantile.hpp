// NormalQuantile: how many standard deviations above the mean a normal number stays, in integers.
#pragma once
#include <cstdint>

namespace tickertape::actors {

/// z with P(X <= z) = probability for a normal X, times 2^16; between -6 and 6. `probability` in
/// parts of 2^32. The density is integrated by the midpoint rule, and each of its values follows
/// from the one before: exp(-(x + h)^2 / 2) = exp(-x^2 / 2) exp(-h x - h^2 / 2). Within 2^-12.
[[nodiscard]] constexpr std::int64_t normal_quantile(std::uint64_t probability) noexcept {
  __extension__ using Wide = unsigned __int128;
  constexpr std::uint64_t kOne = 1ULL << 32;
  constexpr std::int64_t kStep = 1 << 8;               // h = 2^-8, times 2^16.
  constexpr std::int64_t kSteps = 6 << 8;              // Up to 6.
  constexpr std::uint64_t kExp = 9223231300440156843;  // exp(-h^2), times 2^63.
  constexpr std::uint64_t kMass = 7186691513893607;    // h exp(-h^2 / 8) / sqrt(2 pi), times 2^62.
  const bool is_above = probability >= kOne / 2;
  const std::uint64_t wanted = (is_above ? probability - kOne / 2 : kOne / 2 - probability) << 30;

  std::uint64_t mass = kMass;   // Of a step: h times the density in its middle.
  std::uint64_t factor = kExp;  // From one middle to the next.
  std::uint64_t sum = 0;
  std::int64_t z = 0;
  for (std::int64_t i = 0; i < kSteps; ++i) {
    if (sum + mass >= wanted) {
      z += static_cast<std::int64_t>(Wide{wanted - sum} * kStep / mass);
      break;
    }
    sum += mass;
    z += kStep;
    mass = static_cast<std::uint64_t>(Wide{mass} * factor >> 63);
    factor = static_cast<std::uint64_t>(Wide{factor} * kExp >> 63);
  }
  return is_above ? z : -z;
}

}  // namespace tickertape::actors
