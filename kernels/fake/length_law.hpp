// LogNormal: lengths whose logarithm is normal.
#pragma once
#include <algorithm>
#include <cstdint>

#include "kernels/fake/fixed_point.hpp"

namespace tickertape::kernels::fake {

/// Mean and deviation of the binary logarithm.
struct LogNormal {
  Fixed mean;
  Fixed deviation;

  [[nodiscard]] std::uint32_t at(std::uint64_t seed, std::uint64_t stream,
                                 std::uint64_t index) const {
    constexpr Fixed kMost = 20 * kOne;
    const Fixed log = mean + multiply(deviation, normal_at(seed, stream, index));
    return static_cast<std::uint32_t>((exp2(std::clamp(log, Fixed{0}, kMost)) + kOne / 2) >> 32);
  }
};

// Medians and deviations, fitted so that the means, after the cuts below, are those of the two data
// sets in Kwon et al. 2023, section 6.1: 161 and 338, 19 and 58.
inline constexpr LogNormal kShareGptIn{27959672832, 6871947674};   // 2^6.5099, 2^1.6
inline constexpr LogNormal kShareGptOut{33727365120, 5583457485};  // 2^7.8528, 2^1.3
inline constexpr LogNormal kAlpacaIn{17698996224, 2576980378};     // 2^4.1209, 2^0.6
inline constexpr LogNormal kAlpacaOut{22675734528, 5583457485};    // 2^5.2796, 2^1.3

inline constexpr std::uint32_t kLeastLength = 4;
inline constexpr std::uint32_t kMostPrompt = 1024;
inline constexpr std::uint32_t kMostTogether = 2048;

}  // namespace tickertape::kernels::fake
