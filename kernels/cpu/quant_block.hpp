// QuantBlock: 32 activations as small integers with their scale.
#pragma once
#include <cstdint>

namespace tickertape::kernels::cpu {

/// x[i] is about scale * q[i]. q lies in [-127, 127]. A block that holds a NaN or an infinity has a
/// NaN as its scale, so the row that it belongs to shows it; magnitudes below 1e-30 count as zero.
struct QuantBlock {
  std::int8_t q[32];
  float scale;
  float scaled_sum;       ///< scale * (sum of q): what multiplies a minimum.
  std::int32_t sum_by_8;  ///< 8 * (sum of q): the zero point of q4_0.
};

}  // namespace tickertape::kernels::cpu
