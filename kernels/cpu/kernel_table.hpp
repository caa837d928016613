// KernelTable: the functions of one instruction set, looked up once per backend.
#pragma once
#include <cstddef>
#include <cstdint>

#include "kernels/cpu/packed_matrix.hpp"
#include "kernels/cpu/quant_block.hpp"

namespace tickertape::kernels::cpu {

/// out[r][j] (+)= sum over k of w[j][k] * x[r][k], for rows r in [0, num_rows) and the outputs of
/// the groups [first_group, end_group). Column j of `out` is output j of the matrix; whole groups
/// are written. Every output has one order of additions, whatever num_rows and the groups are.
struct MatmulArgs {
  const PackedMatrix* weights = nullptr;
  const float* x = nullptr;            ///< For kernels on floats; row stride num_cols.
  const QuantBlock* quants = nullptr;  ///< For kernels on integers; row stride num_blocks().
  float* out = nullptr;
  std::size_t out_stride = 0;
  std::uint32_t num_rows = 0;
  std::uint32_t first_group = 0;
  std::uint32_t end_group = 0;
  bool add = false;  ///< Adds to `out` instead of replacing it.
};

/// Storage of K and V. The enumerators stand for functions of the table.
enum class KvType : std::uint8_t { f16, f32, bf16 };

[[nodiscard]] constexpr std::size_t kv_type_bytes(KvType type) noexcept {
  return type == KvType::f32 ? 4 : 2;
}

inline constexpr std::uint32_t kKeyBlock = 32;  ///< Positions per step of the softmax, from 0 on.

/// One query's softmax so far: the largest score, the sum of weights, the weighted sum of values.
struct AttentionState {
  float max_score;
  float sum;
  float* values;  ///< [head_size]
};

/// One step: adds keys and values of `count` positions, [position][head_size] each, to the state.
/// `query` holds the scale 1/sqrt(head_size) already.
struct AttentionStep {
  const float* query = nullptr;
  const float* keys = nullptr;
  const float* values = nullptr;
  std::uint32_t count = 0;      ///< 1 to kKeyBlock.
  std::uint32_t head_size = 0;  ///< A multiple of 8.
};

struct KernelTable {
  const char* name = "";
  /// The quantised types are multiplied as integers: rows must be given as QuantBlocks.
  bool uses_integers = false;
  void (*matmul[kNumWeightTypes])(const MatmulArgs&) = {};
  void (*quantise)(const float* x, std::uint32_t size, QuantBlock* out) = nullptr;
  /// out = x / rms(x) * weight. REQUIRES: size is a multiple of 32.
  void (*rms_norm)(const float* x, const float* weight, float epsilon, std::uint32_t size,
                   float* out) = nullptr;
  /// out = silu(gate) * up. REQUIRES: size is a multiple of 8.
  void (*swiglu)(const float* gate, const float* up, std::uint32_t size, float* out) = nullptr;
  void (*attend)(const AttentionStep&, AttentionState&) = nullptr;
  /// Rounds to the type, or widens from it. REQUIRES: size is a multiple of 8.
  void (*store_kv)(KvType type, const float* from, std::uint32_t size, std::byte* to) = nullptr;
  void (*load_kv)(KvType type, const std::byte* from, std::uint32_t size, float* to) = nullptr;
};

/// Float activations and weights widened to float, in plain loops: for quality.
[[nodiscard]] const KernelTable& reference_kernels() noexcept;
/// What the fast paths compute, operation by operation, without vector instructions.
[[nodiscard]] const KernelTable& scalar_kernels() noexcept;
/// Bit-equal to scalar_kernels(). REQUIRES: AVX2, FMA and F16C.
[[nodiscard]] const KernelTable& avx2_kernels() noexcept;

}  // namespace tickertape::kernels::cpu
