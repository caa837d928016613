// FloatRows and ActivationRows: intermediate values of a pass, a row per token.
#pragma once
#include <cstddef>
#include <cstdint>

#include "kernels/cpu/kernel_table.hpp"
#include "kernels/cpu/memory_region.hpp"
#include "kernels/cpu/quant_block.hpp"
#include "kernels/cpu/weights.hpp"

namespace tickertape::kernels::cpu {

class FloatRows {
 public:
  FloatRows(std::size_t num_rows, std::size_t stride)
      : stride_(stride), region_(num_rows * stride * sizeof(float), "intermediate values") {}

  [[nodiscard]] float* row(std::size_t index) const noexcept {
    return reinterpret_cast<float*>(region_.data()) + index * stride_;
  }
  [[nodiscard]] std::size_t stride() const noexcept { return stride_; }
  [[nodiscard]] static std::uint64_t bytes(std::uint64_t num_rows, std::uint64_t stride) noexcept {
    return num_rows * stride * sizeof(float);
  }

 private:
  std::size_t stride_;
  MemoryRegion region_;
};

/// A row stride that does not put the rows' beginnings in the same few lines of a cache.
[[nodiscard]] constexpr std::size_t padded_stride(std::size_t size) noexcept {
  return (size + 15) / 16 * 16 + 16;
}

/// The input of matrices: as floats, and as QuantBlocks where a kernel multiplies integers.
class ActivationRows {
 public:
  ActivationRows(std::size_t num_rows, std::size_t size)
      : floats_(num_rows, size),
        num_blocks_(size / kBlock),
        quants_(num_rows * num_blocks_ * sizeof(QuantBlock), "intermediate values") {}

  [[nodiscard]] static std::uint64_t bytes(std::uint64_t num_rows, std::uint64_t size) noexcept {
    return FloatRows::bytes(num_rows, size) + num_rows * (size / kBlock) * sizeof(QuantBlock);
  }
  [[nodiscard]] float* row(std::size_t index) const noexcept { return floats_.row(index); }
  [[nodiscard]] QuantBlock* quants(std::size_t index) const noexcept {
    return reinterpret_cast<QuantBlock*>(quants_.data()) + index * num_blocks_;
  }

  /// Makes the row's QuantBlocks if a part of `next` wants them.
  void quantise_for(const FusedMatrix& next, const KernelTable& kernels, std::size_t index) const {
    if (!kernels.uses_integers) return;
    for (const PackedMatrix& part : next.parts) {
      if (!is_integer(part.type)) continue;
      kernels.quantise(row(index), static_cast<std::uint32_t>(floats_.stride()), quants(index));
      return;
    }
  }

 private:
  FloatRows floats_;
  std::size_t num_blocks_;
  MemoryRegion quants_;
};

/// Rows [first_row, end_row) times the groups [first_group, end_group) of all parts counted
/// through.
inline void multiply_rows(const FusedMatrix& matrix, const KernelTable& kernels,
                          const ActivationRows& from, const FloatRows& to, std::uint32_t first_row,
                          std::uint32_t end_row, std::uint32_t first_group, std::uint32_t end_group,
                          bool add) {
  if (first_row >= end_row) return;
  std::uint32_t part_start = 0;
  for (const PackedMatrix& part : matrix.parts) {
    const std::uint32_t part_end = part_start + part.num_groups();
    const std::uint32_t first = first_group > part_start ? first_group : part_start;
    const std::uint32_t end = end_group < part_end ? end_group : part_end;
    if (first < end) {
      MatmulArgs args;
      args.weights = &part;
      args.x = from.row(first_row);
      args.quants = from.quants(first_row);
      args.out = to.row(first_row) + std::size_t{part_start} * kGroupRows;
      args.out_stride = to.stride();
      args.num_rows = end_row - first_row;
      args.first_group = first - part_start;
      args.end_group = end - part_start;
      args.add = add;
      kernels.matmul[static_cast<std::size_t>(part.type)](args);
    }
    part_start = part_end;
  }
}

/// Member `index` of `num_members` gets [first, second) of `count` in multiples of `unit`.
struct Share {
  std::uint32_t first = 0;
  std::uint32_t end = 0;
};
[[nodiscard]] inline Share share_of(std::uint32_t count, std::uint32_t unit, unsigned index,
                                    unsigned num_members) noexcept {
  const std::uint64_t units = (std::uint64_t{count} + unit - 1) / unit;
  const auto border = [&](std::uint64_t i) {
    const std::uint64_t place = units * i / num_members * unit;
    return static_cast<std::uint32_t>(place < count ? place : count);
  };
  return {border(index), border(std::uint64_t{index} + 1)};
}

}  // namespace tickertape::kernels::cpu
