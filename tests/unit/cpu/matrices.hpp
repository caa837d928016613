// Matrices of every weight type with their exact numbers, for tests of kernels.
#pragma once
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kernels/cpu/packed_matrix.hpp"
#include "tests/support/tiny_llama.hpp"

namespace tickertape::test {

using kernels::cpu::kGroupRows;
using kernels::cpu::PackedMatrix;
using kernels::cpu::WeightType;
using kernels::formats::GgmlType;

inline constexpr GgmlType kComputableTypes[] = {GgmlType::f32,  GgmlType::f16,  GgmlType::bf16,
                                                GgmlType::q8_0, GgmlType::q4_0, GgmlType::q4_1};

/// Number k of a row as the formats define it (the ggml project's block layouts).
inline double file_number(GgmlType type, const std::string& row, std::size_t k) {
  const auto half_at = [&](std::size_t at) {
    std::uint16_t half = 0;
    std::memcpy(&half, row.data() + at, 2);
    return half;
  };
  const auto f16_at = [&](std::size_t at) { return kernels::cpu::f16_to_float(half_at(at)); };
  if (type == GgmlType::f32) {
    float value = 0;
    std::memcpy(&value, row.data() + 4 * k, 4);
    return value;
  }
  if (type == GgmlType::f16) return f16_at(2 * k);
  if (type == GgmlType::bf16) return kernels::cpu::bf16_to_float(half_at(2 * k));
  const std::size_t block = k / 32 * kernels::formats::traits(type).block_bytes;
  const double scale = f16_at(block);
  const std::size_t i = k % 32;
  if (type == GgmlType::q8_0) return scale * static_cast<signed char>(row[block + 2 + i]);
  const std::size_t first = block + (type == GgmlType::q4_1 ? 4 : 2);
  const auto byte = static_cast<unsigned char>(row[first + i % 16]);
  const int q = i < 16 ? byte & 15 : byte >> 4;
  return type == GgmlType::q4_0 ? scale * (q - 8) : scale * q + f16_at(block + 2);
}

struct TestMatrix {
  GgmlType type;
  std::uint32_t rows;
  std::uint32_t cols;
  std::string file_bytes;
  std::vector<std::byte> packed_bytes;
  PackedMatrix packed;

  TestMatrix(GgmlType in_type, std::uint32_t in_rows, std::uint32_t in_cols, std::string bytes)
      : type(in_type), rows(in_rows), cols(in_cols), file_bytes(std::move(bytes)) {
    packed = {kernels::cpu::weight_type(type), rows, cols, nullptr};
    packed_bytes.resize(packed.size_bytes() + 8192);  // kernels prefetch past the end
    packed.data = packed_bytes.data();
    const std::size_t row_bytes = kernels::cpu::file_row_bytes(packed.type, cols);
    const auto all = std::as_bytes(std::span(file_bytes));
    for (std::uint32_t group = 0; group < packed.num_groups(); ++group) {
      const std::size_t first = group * kGroupRows * row_bytes;
      const std::size_t size = std::min(kGroupRows * row_bytes, all.size() - first);
      pack_group(packed, all.subspan(first, size),
                 packed_bytes.data() + group * packed.group_bytes());
    }
  }
  TestMatrix(GgmlType in_type, std::uint32_t in_rows, std::uint32_t in_cols, RandomNumbers& random)
      : TestMatrix(in_type, in_rows, in_cols,
                   random_tensor(in_type, std::uint64_t{in_rows} * in_cols, 1.0F, random)) {}
  TestMatrix(const TestMatrix&) = delete;
  TestMatrix& operator=(const TestMatrix&) = delete;

  [[nodiscard]] double number(std::uint32_t row, std::uint32_t k) const {
    const std::size_t row_bytes = kernels::cpu::file_row_bytes(packed.type, cols);
    return file_number(type, file_bytes.substr(row * row_bytes, row_bytes), k);
  }
  /// All numbers, row by row.
  [[nodiscard]] std::vector<double> numbers() const {
    const std::size_t row_bytes = kernels::cpu::file_row_bytes(packed.type, cols);
    std::vector<double> all;
    for (std::uint32_t row = 0; row < rows; ++row) {
      const std::string bytes = file_bytes.substr(row * row_bytes, row_bytes);
      for (std::uint32_t k = 0; k < cols; ++k) all.push_back(file_number(type, bytes, k));
    }
    return all;
  }
};

}  // namespace tickertape::test
