// Half floats: IEEE binary16 and bfloat16 to and from float, with the roundings of the hardware.
#pragma once
#include <bit>
#include <cstdint>

namespace tickertape::kernels::cpu {

[[nodiscard]] inline float f16_to_float(std::uint16_t half) noexcept {
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000U) << 16;
  const std::uint32_t magnitude = half & 0x7fffU;
  if (magnitude >= 0x7c00U) {  // infinity and NaN; a signalling NaN turns quiet, as in hardware
    const std::uint32_t quiet = magnitude > 0x7c00U ? 0x400000U : 0U;
    return std::bit_cast<float>(sign | 0x7f800000U | ((magnitude & 0x3ffU) << 13) | quiet);
  }
  if (magnitude >= 0x400U) return std::bit_cast<float>(sign | ((magnitude << 13) + 0x38000000U));
  // Subnormal: an integer times 2^-24, exact in float.
  const float value = static_cast<float>(magnitude) * 0x1p-24F;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) | sign);
}

/// Rounds to nearest, ties to even; what is too large becomes infinity.
[[nodiscard]] inline std::uint16_t float_to_f16(float value) noexcept {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000U;
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  std::uint32_t half = 0;
  if (magnitude > 0x7f800000U) {
    half = 0x7e00U | ((magnitude >> 13) & 0x3ffU);
  } else if (magnitude >= 0x47800000U) {  // 65536 and more
    half = 0x7c00U;
  } else if (magnitude >= 0x38800000U) {  // 2^-14: normal; a carry out of the mantissa is right
    half = (magnitude + 0xfffU + ((magnitude >> 13) & 1U) - 0x38000000U) >> 13;
  } else {
    // Adding 0.5 leaves the mantissa's last bit worth 2^-24, so the addition itself rounds.
    const float sum = std::bit_cast<float>(magnitude) + 0.5F;
    half = std::bit_cast<std::uint32_t>(sum) - 0x3f000000U;
  }
  return static_cast<std::uint16_t>(sign | half);
}

[[nodiscard]] inline float bf16_to_float(std::uint16_t half) noexcept {
  return std::bit_cast<float>(static_cast<std::uint32_t>(half) << 16);
}

/// Rounds to nearest, ties to even; NaN stays NaN.
[[nodiscard]] inline std::uint16_t float_to_bf16(float value) noexcept {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffU) > 0x7f800000U) return static_cast<std::uint16_t>((bits >> 16) | 0x40U);
  return static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}

}  // namespace tickertape::kernels::cpu
