// PackedMatrix: a weight matrix in the order in which the CPU kernels read it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/formats/ggml_type.hpp"

namespace tickertape::kernels::cpu {

inline constexpr std::uint32_t kGroupRows = 16;  ///< Output rows that are computed side by side.
inline constexpr std::uint32_t kBlock = 32;      ///< Inputs that share a scale.

/// The types that have arithmetic, numbered so that kernels can be looked up by them.
enum class WeightType : std::uint8_t { f32, f16, bf16, q8_0, q4_0, q4_1 };
inline constexpr std::size_t kNumWeightTypes = 6;

[[nodiscard]] constexpr bool is_integer(WeightType type) noexcept {
  return type >= WeightType::q8_0;
}

/// REQUIRES: traits(type).computable.
[[nodiscard]] WeightType weight_type(formats::GgmlType type) noexcept;

/// Bytes of one block of 16 rows x 32 inputs. A matrix is [group][block], one unbroken stream:
///   q4_0, q4_1  4 lines of [row][4 bytes]: byte i of line p holds input 4p+i in its low and
///   4p+16+i
///               in its high half; then 16 scales d (f16); for q4_1 then 16 minima m (f16)
///   q8_0        8 lines of [row][4 bytes]: byte i of line p is input 4p+i; then 16 scales d (f16)
///   f32, f16, bf16   [input][row]
/// A line of 64 bytes is one AVX-512 or two AVX2 registers; the bytes are no more than in the file.
[[nodiscard]] constexpr std::size_t block_bytes(WeightType type) noexcept {
  constexpr std::size_t kBytes[kNumWeightTypes] = {2048, 1024, 1024, 544, 288, 320};
  return kBytes[static_cast<std::size_t>(type)];
}

/// A view; the bytes belong to CpuWeights. Rows past num_rows up to a whole group are zeros.
struct PackedMatrix {
  WeightType type = WeightType::f32;
  std::uint32_t num_rows = 0;  ///< Outputs.
  std::uint32_t num_cols = 0;  ///< Inputs; a multiple of 32.
  const std::byte* data = nullptr;

  [[nodiscard]] std::uint32_t num_groups() const noexcept {
    return (num_rows + kGroupRows - 1) / kGroupRows;
  }
  [[nodiscard]] std::uint32_t num_blocks() const noexcept { return num_cols / kBlock; }
  [[nodiscard]] std::size_t group_bytes() const noexcept {
    return block_bytes(type) * num_blocks();
  }
  [[nodiscard]] std::size_t size_bytes() const noexcept { return group_bytes() * num_groups(); }
  [[nodiscard]] const std::byte* block(std::uint32_t group, std::uint32_t index) const noexcept {
    return data + group * group_bytes() + index * block_bytes(type);
  }
};

/// Bytes of one row as the file has them.
[[nodiscard]] std::size_t file_row_bytes(WeightType type, std::uint32_t num_cols) noexcept;

/// Writes one group: up to 16 rows as the file has them, missing ones as zeros.
/// REQUIRES: out is the group's group_bytes(); rows is whole rows.
void pack_group(const PackedMatrix& matrix, std::span<const std::byte> rows, std::byte* out);

/// One row as floats: what the file's format says the numbers are, rounded to float.
void dequantise_row(const PackedMatrix& matrix, std::uint32_t row, std::span<float> out);

/// One block as floats, [input][row of the group].
void dequantise_block(WeightType type, const std::byte* block, float* out);

}  // namespace tickertape::kernels::cpu
