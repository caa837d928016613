// reference_kernels: float activations against weights widened to float.
#include <cstring>

#include "kernels/cpu/kernel_table.hpp"
#include "kernels/cpu/lane_kernels.hpp"
#include "kernels/cpu/scalar_lanes.hpp"

namespace tickertape::kernels::cpu {
namespace {

constexpr std::uint32_t kTileRows = 64;  ///< Rows that share one widening of a block.

/// sums[parity][lane] += w[k][lane] * x[k] over the 32 inputs of a block.
void add_block(const float* widened, const float* x, float (&sums)[2][kGroupRows]) {
  float even[kGroupRows];
  float odd[kGroupRows];
  std::memcpy(even, sums[0], sizeof even);
  std::memcpy(odd, sums[1], sizeof odd);
  for (std::uint32_t k = 0; k < kBlock; k += 2, widened += 2 * kGroupRows) {
    const float x_even = x[k];
    const float x_odd = x[k + 1];
    for (std::uint32_t lane = 0; lane < kGroupRows; ++lane) even[lane] += widened[lane] * x_even;
    for (std::uint32_t lane = 0; lane < kGroupRows; ++lane) {
      odd[lane] += widened[kGroupRows + lane] * x_odd;
    }
  }
  std::memcpy(sums[0], even, sizeof even);
  std::memcpy(sums[1], odd, sizeof odd);
}

void matmul_tile(const MatmulArgs& args, std::uint32_t group, std::uint32_t first_row,
                 std::uint32_t num_rows) {
  const PackedMatrix& weights = *args.weights;
  float sums[kTileRows][2][kGroupRows];
  std::memset(sums, 0, sizeof sums);
  float widened[kBlock * kGroupRows];
  for (std::uint32_t b = 0; b < weights.num_blocks(); ++b) {
    dequantise_block(weights.type, weights.block(group, b), widened);
    const float* x = args.x + std::size_t{first_row} * weights.num_cols + std::size_t{b} * kBlock;
    for (std::uint32_t r = 0; r < num_rows; ++r) {
      add_block(widened, x + std::size_t{r} * weights.num_cols, sums[r]);
    }
  }
  for (std::uint32_t r = 0; r < num_rows; ++r) {
    float* out = args.out + (first_row + r) * args.out_stride + std::size_t{group} * kGroupRows;
    for (std::uint32_t lane = 0; lane < kGroupRows; ++lane) {
      const float sum = sums[r][0][lane] + sums[r][1][lane];
      out[lane] = args.add ? out[lane] + sum : sum;
    }
  }
}

void matmul(const MatmulArgs& args) {
  for (std::uint32_t group = args.first_group; group < args.end_group; ++group) {
    for (std::uint32_t row = 0; row < args.num_rows; row += kTileRows) {
      const std::uint32_t left = args.num_rows - row;
      matmul_tile(args, group, row, left < kTileRows ? left : kTileRows);
    }
  }
}

KernelTable make_table() {
  KernelTable table;
  table.name = "reference";
  set_lane_kernels<ScalarLanes<false>>(table);
  for (auto& function : table.matmul) function = matmul;
  table.quantise = scalar_kernels().quantise;
  return table;
}

}  // namespace

const KernelTable& reference_kernels() noexcept {
  static const KernelTable table = make_table();
  return table;
}

}  // namespace tickertape::kernels::cpu
