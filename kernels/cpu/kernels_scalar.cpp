// scalar_kernels: the oracle of the integer arithmetic.
#include <bit>
#include <cmath>
#include <cstring>

#include "kernels/cpu/half.hpp"
#include "kernels/cpu/kernel_table.hpp"
#include "kernels/cpu/lane_kernels.hpp"
#include "kernels/cpu/scalar_lanes.hpp"

namespace tickertape::kernels::cpu {
namespace {

/// Nearest integer of |x| <= 128, ties to even.
std::int32_t round_to_even(float x) noexcept {
  return std::bit_cast<std::int32_t>(x + kRoundMagic) - std::bit_cast<std::int32_t>(kRoundMagic);
}

void quantise(const float* x, std::uint32_t size, QuantBlock* out) {
  for (std::uint32_t b = 0; b < size / kBlock; ++b, x += kBlock) {
    // Compared as integers, infinities and NaNs are larger than every number.
    std::uint32_t largest = 0;
    for (std::uint32_t i = 0; i < kBlock; ++i) {
      const std::uint32_t bits = std::bit_cast<std::uint32_t>(x[i]) & 0x7fffffffU;
      if (bits > largest) largest = bits;
    }
    const bool finite = largest < 0x7f800000U;
    const float magnitude = std::bit_cast<float>(largest);
    const bool zero = !finite || magnitude < 1e-30F;
    const float scale = zero ? 0.0F : magnitude * (1.0F / 127.0F);
    const float inverse = zero ? 0.0F : 127.0F / magnitude;
    std::int32_t sum = 0;
    for (std::uint32_t i = 0; i < kBlock; ++i) {
      const std::int32_t q = zero ? 0 : round_to_even(x[i] * inverse);
      out[b].q[i] = static_cast<std::int8_t>(q);
      sum += q;
    }
    out[b].scale = finite ? scale : std::numeric_limits<float>::quiet_NaN();
    out[b].scaled_sum = out[b].scale * static_cast<float>(sum);
    out[b].sum_by_8 = 8 * sum;
  }
}

float load_half(const std::byte* from) noexcept {
  std::uint16_t half = 0;
  std::memcpy(&half, from, sizeof half);
  return f16_to_float(half);
}

/// Sum of q[i] * w[i] over a block, w as stored (q4: 0 to 15).
std::int32_t integer_dot(WeightType type, const std::byte* block, std::uint32_t lane,
                         const std::int8_t* q) noexcept {
  std::int32_t sum = 0;
  for (std::uint32_t i = 0; i < kBlock; ++i) {
    const std::uint32_t k = type == WeightType::q8_0 ? i : i % 16;
    const std::byte byte = block[64 * (k / 4) + 4 * lane + k % 4];
    std::int32_t weight = static_cast<std::int8_t>(byte);
    if (type != WeightType::q8_0) {
      weight = i < 16 ? std::to_integer<int>(byte) & 15 : std::to_integer<int>(byte) >> 4;
    }
    sum += weight * q[i];
  }
  return sum;
}

template <WeightType kType>
float output(const PackedMatrix& weights, const QuantBlock* quants, std::uint32_t group,
             std::uint32_t lane) noexcept {
  float sum = 0;
  for (std::uint32_t b = 0; b < weights.num_blocks(); ++b) {
    const std::byte* block = weights.block(group, b);
    const std::byte* scales = block + (kType == WeightType::q8_0 ? 512 : 256) + 2 * lane;
    const QuantBlock& quant = quants[b];
    std::int32_t dot = integer_dot(kType, block, lane, quant.q);
    if (kType == WeightType::q4_0) dot -= quant.sum_by_8;
    sum = std::fma(static_cast<float>(dot), load_half(scales) * quant.scale, sum);
    if (kType == WeightType::q4_1) sum = std::fma(load_half(scales + 32), quant.scaled_sum, sum);
  }
  return sum;
}

template <WeightType kType>
void matmul_integers(const MatmulArgs& args) {
  const PackedMatrix& weights = *args.weights;
  for (std::uint32_t row = 0; row < args.num_rows; ++row) {
    const QuantBlock* quants = args.quants + std::size_t{row} * weights.num_blocks();
    for (std::uint32_t group = args.first_group; group < args.end_group; ++group) {
      for (std::uint32_t lane = 0; lane < kGroupRows; ++lane) {
        float* out = args.out + row * args.out_stride + std::size_t{group} * kGroupRows + lane;
        const float sum = output<kType>(weights, quants, group, lane);
        *out = args.add ? *out + sum : sum;
      }
    }
  }
}

KernelTable make_table() {
  KernelTable table;
  table.name = "scalar";
  table.uses_integers = true;
  set_lane_kernels<ScalarLanes<true>>(table);
  table.matmul[static_cast<std::size_t>(WeightType::q8_0)] = matmul_integers<WeightType::q8_0>;
  table.matmul[static_cast<std::size_t>(WeightType::q4_0)] = matmul_integers<WeightType::q4_0>;
  table.matmul[static_cast<std::size_t>(WeightType::q4_1)] = matmul_integers<WeightType::q4_1>;
  table.quantise = quantise;
  return table;
}

}  // namespace

const KernelTable& scalar_kernels() noexcept {
  static const KernelTable table = make_table();
  return table;
}

}  // namespace tickertape::kernels::cpu
