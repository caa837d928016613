// Fixed point: logarithms, powers and random numbers in integers, the same everywhere.
#pragma once
#include <cstdint>

namespace tickertape::kernels::fake {

/// Fractions in 32 bits: kOne is 1.
using Fixed = std::int64_t;
inline constexpr Fixed kOne = Fixed{1} << 32;

/// a * b with 128 bits between.
[[nodiscard]] constexpr Fixed multiply(Fixed a, Fixed b) noexcept {
  __extension__ typedef __int128 Wide;
  return static_cast<Fixed>((static_cast<Wide>(a) * b) >> 32);
}

/// 2^x for x in [-31, 30]; relative error below 2^-20. The series of exp(f ln 2) for the fraction.
[[nodiscard]] constexpr Fixed exp2(Fixed x) noexcept {
  const auto whole = static_cast<int>(x >> 32);
  const Fixed fraction = x & (kOne - 1);
  // ln(2)^k / k! for k = 7 down to 0, times 2^32.
  constexpr Fixed kSeries[] = {65510,     661577,     5726720,    41309550,
                               238388332, 1031764991, 2977044472, kOne};
  Fixed power = 0;
  for (const Fixed term : kSeries) power = multiply(power, fraction) + term;
  return whole >= 0 ? power << whole : power >> -whole;
}

/// -ln(x) for x in (0, 1]: the binary logarithm bit by bit (squaring), times ln 2.
[[nodiscard]] constexpr Fixed minus_ln(Fixed x) noexcept {
  int whole = 0;
  while (x < kOne) {
    x <<= 1;
    ++whole;
  }
  Fixed fraction = 0;
  for (int bit = 31; bit >= 0 && x != kOne; --bit) {
    x = multiply(x, x);
    if (x >= 2 * kOne) {
      x >>= 1;
      fraction |= Fixed{1} << bit;
    }
  }
  constexpr Fixed kLn2 = 2977044472;
  return multiply((static_cast<Fixed>(whole) << 32) - fraction, kLn2);
}

/// Random numbers by key: number `index` of stream `stream` under `seed`, without order. The
/// finaliser of SplitMix64 (Steele, Lea, Flood 2014) over each part in turn.
[[nodiscard]] constexpr std::uint64_t scramble(std::uint64_t x) noexcept {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}
[[nodiscard]] constexpr std::uint64_t random_at(std::uint64_t seed, std::uint64_t stream,
                                                std::uint64_t index) noexcept {
  return scramble(scramble(scramble(seed) ^ stream) ^ index);
}

/// In [0, n), from 64 random bits; n below 2^32.
[[nodiscard]] constexpr std::uint32_t below(std::uint64_t random, std::uint32_t n) noexcept {
  return static_cast<std::uint32_t>(((random >> 32) * n) >> 32);
}

/// About normal, mean 0 and variance 1: twelve uniform numbers less 6 (Irwin-Hall). The tails end
/// at +-6; at +-3 they hold 0.2 % instead of 0.27 %.
[[nodiscard]] constexpr Fixed normal_at(std::uint64_t seed, std::uint64_t stream,
                                        std::uint64_t index) noexcept {
  Fixed sum = -6 * kOne;
  for (std::uint64_t i = 0; i < 6; ++i) {
    const std::uint64_t random = random_at(seed, stream + (i << 32), index);
    sum += static_cast<Fixed>(random >> 32) + static_cast<Fixed>(random & 0xffffffff);
  }
  return sum;
}

}  // namespace tickertape::kernels::fake
