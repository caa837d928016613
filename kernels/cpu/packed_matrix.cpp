// Packing of weight matrices, and their numbers as floats.
#include "kernels/cpu/packed_matrix.hpp"

#include <cstring>
#include <tickertape/assert.hpp>

#include "kernels/cpu/half.hpp"

namespace tickertape::kernels::cpu {
namespace {

template <class T>
T load(const std::byte* from) noexcept {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

float load_half(const std::byte* from) noexcept {
  return f16_to_float(load<std::uint16_t>(from));
}

/// Where the lines of a quantised block end and its scales begin.
constexpr std::size_t lines_bytes(WeightType type) noexcept {
  return type == WeightType::q8_0 ? 512 : 256;
}

/// A file's quantised block is d (and m), then the bytes; words of four go to the row's column.
void pack_quantised(WeightType type, const std::byte* from, std::uint32_t lane, std::byte* block) {
  const std::size_t scale_bytes = type == WeightType::q4_1 ? 4 : 2;
  const std::size_t num_lines = lines_bytes(type) / 64;
  for (std::size_t p = 0; p < num_lines; ++p) {
    std::memcpy(block + 64 * p + 4 * lane, from + scale_bytes + 4 * p, 4);
  }
  std::byte* scales = block + lines_bytes(type);
  std::memcpy(scales + 2 * lane, from, 2);
  if (type == WeightType::q4_1) std::memcpy(scales + 32 + 2 * lane, from + 2, 2);
}

/// Input k of a row of a block of floats.
float stored_float(WeightType type, const std::byte* block, std::size_t place) noexcept {
  if (type == WeightType::f32) return load<float>(block + 4 * place);
  if (type == WeightType::f16) return load_half(block + 2 * place);
  return bf16_to_float(load<std::uint16_t>(block + 2 * place));
}

/// Input k of a row of a quantised block: the integer, and the factor and offset of the row.
int stored_integer(WeightType type, const std::byte* block, std::uint32_t k,
                   std::uint32_t lane) noexcept {
  if (type == WeightType::q8_0) return load<std::int8_t>(block + 64 * (k / 4) + 4 * lane + k % 4);
  const std::uint32_t low_k = k % 16;
  const auto both = load<std::uint8_t>(block + 64 * (low_k / 4) + 4 * lane + low_k % 4);
  const int q = k < 16 ? both & 15 : both >> 4;
  return type == WeightType::q4_0 ? q - 8 : q;
}

struct Scale {
  float factor;
  float offset;
};

Scale stored_scale(WeightType type, const std::byte* block, std::uint32_t lane) noexcept {
  const std::byte* scales = block + lines_bytes(type) + 2 * lane;
  return {load_half(scales), type == WeightType::q4_1 ? load_half(scales + 32) : 0.0F};
}

}  // namespace

WeightType weight_type(formats::GgmlType type) noexcept {
  using formats::GgmlType;
  switch (type) {
    case GgmlType::f32:
      return WeightType::f32;
    case GgmlType::f16:
      return WeightType::f16;
    case GgmlType::bf16:
      return WeightType::bf16;
    case GgmlType::q8_0:
      return WeightType::q8_0;
    case GgmlType::q4_0:
      return WeightType::q4_0;
    case GgmlType::q4_1:
      return WeightType::q4_1;
    default:
      break;
  }
  TICKERTAPE_ASSERT(!"a weight type without arithmetic");
  return WeightType::f32;
}

std::size_t file_row_bytes(WeightType type, std::uint32_t num_cols) noexcept {
  return num_cols / kBlock * (block_bytes(type) / kGroupRows);
}

void pack_group(const PackedMatrix& matrix, std::span<const std::byte> rows, std::byte* out) {
  const std::size_t row_bytes = file_row_bytes(matrix.type, matrix.num_cols);
  const std::size_t file_block_bytes = block_bytes(matrix.type) / kGroupRows;
  const std::size_t num_rows = rows.size() / row_bytes;
  TICKERTAPE_ASSERT(num_rows <= kGroupRows && rows.size() % row_bytes == 0);
  if (num_rows < kGroupRows) std::memset(out, 0, matrix.group_bytes());
  for (std::uint32_t lane = 0; lane < num_rows; ++lane) {
    for (std::uint32_t b = 0; b < matrix.num_blocks(); ++b) {
      const std::byte* from = rows.data() + lane * row_bytes + b * file_block_bytes;
      std::byte* block = out + b * block_bytes(matrix.type);
      if (is_integer(matrix.type)) {
        pack_quantised(matrix.type, from, lane, block);
        continue;
      }
      const std::size_t width = file_block_bytes / kBlock;
      for (std::size_t k = 0; k < kBlock; ++k) {
        std::memcpy(block + (k * kGroupRows + lane) * width, from + k * width, width);
      }
    }
  }
}

void dequantise_row(const PackedMatrix& matrix, std::uint32_t row, std::span<float> out) {
  TICKERTAPE_ASSERT(row < matrix.num_rows && out.size() == matrix.num_cols);
  const std::uint32_t lane = row % kGroupRows;
  for (std::uint32_t b = 0; b < matrix.num_blocks(); ++b) {
    const std::byte* block = matrix.block(row / kGroupRows, b);
    float* to = out.data() + std::size_t{b} * kBlock;
    if (!is_integer(matrix.type)) {
      for (std::uint32_t k = 0; k < kBlock; ++k) {
        to[k] = stored_float(matrix.type, block, k * kGroupRows + lane);
      }
      continue;
    }
    const Scale scale = stored_scale(matrix.type, block, lane);
    for (std::uint32_t k = 0; k < kBlock; ++k) {
      const auto q = static_cast<float>(stored_integer(matrix.type, block, k, lane));
      to[k] = scale.factor * q + scale.offset;
    }
  }
}

void dequantise_block(WeightType type, const std::byte* block, float* out) {
  if (!is_integer(type)) {
    for (std::size_t i = 0; i < kBlock * kGroupRows; ++i) out[i] = stored_float(type, block, i);
    return;
  }
  for (std::uint32_t lane = 0; lane < kGroupRows; ++lane) {
    const Scale scale = stored_scale(type, block, lane);
    for (std::uint32_t k = 0; k < kBlock; ++k) {
      const auto q = static_cast<float>(stored_integer(type, block, k, lane));
      out[k * kGroupRows + lane] = scale.factor * q + scale.offset;
    }
  }
}

}  // namespace tickertape::kernels::cpu
