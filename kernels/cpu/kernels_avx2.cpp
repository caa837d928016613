// avx2_kernels: integer dot products without VNNI, and the float kernels on AVX2 lanes.
#include <cstring>

#include "kernels/cpu/avx2_lanes.hpp"
#include "kernels/cpu/kernel_table.hpp"
#include "kernels/cpu/lane_kernels.hpp"

namespace tickertape::kernels::cpu {
namespace {

constexpr std::size_t kPrefetchBytes = 4096;  ///< Best of 1 to 8 KiB for one row of activations.

__m256i load_line(const std::byte* from) noexcept {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}

__m256 load_scales(const std::byte* from) noexcept {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}

/// Activations 4p .. 4p+3 in every lane.
__m256i splat_quants(const QuantBlock& quant, std::size_t p) noexcept {
  std::int32_t word = 0;
  std::memcpy(&word, quant.q + 4 * p, sizeof word);
  return _mm256_set1_epi32(word);
}

/// Dot products of 8 outputs with kRows blocks of activations; `lines` is 8 outputs' part of the
/// first line. Nothing saturates in 16 bits: a pair is at most 2 * 15 * 127 = 3810, and the eight
/// pairs that are added to one half-word at most 30480.
template <int kRows>
void dot_nibbles(const std::byte* lines, const QuantBlock* quants, std::size_t stride,
                 __m256i (&dots)[kRows]) noexcept {
  const __m256i low_bits = _mm256_set1_epi8(15);
  __m256i sums[kRows];
  for (std::size_t p = 0; p < 4; ++p) {
    const __m256i both = load_line(lines + 64 * p);
    const __m256i low = _mm256_and_si256(both, low_bits);
    const __m256i high = _mm256_and_si256(_mm256_srli_epi16(both, 4), low_bits);
    for (int r = 0; r < kRows; ++r) {
      const QuantBlock& quant = quants[static_cast<std::size_t>(r) * stride];
      const __m256i a = _mm256_maddubs_epi16(low, splat_quants(quant, p));
      const __m256i b = _mm256_maddubs_epi16(high, splat_quants(quant, p + 4));
      const __m256i pair = _mm256_add_epi16(a, b);
      sums[r] = p == 0 ? pair : _mm256_add_epi16(sums[r], pair);
    }
  }
  for (int r = 0; r < kRows; ++r) dots[r] = _mm256_madd_epi16(sums[r], _mm256_set1_epi16(1));
}

/// The same for bytes: |w| times the activation with w's sign. |w| <= 128 is taken as unsigned and
/// activations are never -128, so a pair is at most 2 * 128 * 127 = 32512: nothing saturates.
template <int kRows>
void dot_bytes(const std::byte* lines, const QuantBlock* quants, std::size_t stride,
               __m256i (&dots)[kRows]) noexcept {
  for (int r = 0; r < kRows; ++r) dots[r] = _mm256_setzero_si256();
  for (std::size_t p = 0; p < 8; ++p) {
    const __m256i weights = load_line(lines + 64 * p);
    const __m256i magnitude = _mm256_abs_epi8(weights);
    for (int r = 0; r < kRows; ++r) {
      const QuantBlock& quant = quants[static_cast<std::size_t>(r) * stride];
      const __m256i signed_quants = _mm256_sign_epi8(splat_quants(quant, p), weights);
      const __m256i pairs = _mm256_maddubs_epi16(magnitude, signed_quants);
      dots[r] = _mm256_add_epi32(dots[r], _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
    }
  }
}

/// Adds one block of 8 outputs x kRows rows to the sums.
template <WeightType kType, int kRows>
void add_block(const std::byte* block, std::size_t half, const QuantBlock* quants,
               std::size_t stride, __m256 (&sums)[kRows]) noexcept {
  constexpr std::size_t kScales = kType == WeightType::q8_0 ? 512 : 256;
  __m256i dots[kRows];
  if constexpr (kType == WeightType::q8_0) {
    dot_bytes<kRows>(block + 32 * half, quants, stride, dots);
  } else {
    dot_nibbles<kRows>(block + 32 * half, quants, stride, dots);
  }
  const __m256 scale = load_scales(block + kScales + 16 * half);
  for (int r = 0; r < kRows; ++r) {
    const QuantBlock& quant = quants[static_cast<std::size_t>(r) * stride];
    if constexpr (kType == WeightType::q4_0) {
      dots[r] = _mm256_sub_epi32(dots[r], _mm256_set1_epi32(quant.sum_by_8));
    }
    const __m256 factor = _mm256_mul_ps(scale, _mm256_set1_ps(quant.scale));
    sums[r] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(dots[r]), factor, sums[r]);
  }
  if constexpr (kType == WeightType::q4_1) {
    const __m256 minimum = load_scales(block + kScales + 32 + 16 * half);
    for (int r = 0; r < kRows; ++r) {
      const QuantBlock& quant = quants[static_cast<std::size_t>(r) * stride];
      sums[r] = _mm256_fmadd_ps(minimum, _mm256_set1_ps(quant.scaled_sum), sums[r]);
    }
  }
}

void write(const MatmulArgs& args, std::size_t row, std::size_t column, __m256 sum) noexcept {
  float* out = args.out + row * args.out_stride + column;
  _mm256_storeu_ps(out, args.add ? _mm256_add_ps(_mm256_loadu_ps(out), sum) : sum);
}

/// kRows rows x 16 outputs, one half after the other: the second reads its weights from the cache.
template <WeightType kType, int kRows>
void tile(const MatmulArgs& args, std::uint32_t group, std::size_t row) noexcept {
  const std::size_t num_blocks = args.weights->num_blocks();
  for (std::size_t half = 0; half < 2; ++half) {
    __m256 sums[kRows];
    for (__m256& sum : sums) sum = _mm256_setzero_ps();
    const std::byte* block = args.weights->block(group, 0);
    const QuantBlock* quants = args.quants + row * num_blocks;
    for (std::size_t b = 0; b < num_blocks; ++b, block += block_bytes(kType), ++quants) {
      add_block<kType, kRows>(block, half, quants, num_blocks, sums);
    }
    for (int r = 0; r < kRows; ++r) {
      write(args, row + static_cast<std::size_t>(r), group * std::size_t{kGroupRows} + 8 * half,
            sums[r]);
    }
  }
}

/// One row x 16 outputs, both halves together: every byte of the weights is read once, in order.
template <WeightType kType>
void stream(const MatmulArgs& args, std::uint32_t group, std::size_t row) noexcept {
  const std::size_t num_blocks = args.weights->num_blocks();
  __m256 low[1] = {_mm256_setzero_ps()};
  __m256 high[1] = {_mm256_setzero_ps()};
  const std::byte* block = args.weights->block(group, 0);
  const QuantBlock* quants = args.quants + row * num_blocks;
  for (std::size_t b = 0; b < num_blocks; ++b, block += block_bytes(kType), ++quants) {
    for (std::size_t line = 0; line < block_bytes(kType); line += 64) {
      _mm_prefetch(reinterpret_cast<const char*>(block + line + kPrefetchBytes), _MM_HINT_T0);
    }
    add_block<kType, 1>(block, 0, quants, 0, low);
    add_block<kType, 1>(block, 1, quants, 0, high);
  }
  write(args, row, group * std::size_t{kGroupRows}, low[0]);
  write(args, row, group * std::size_t{kGroupRows} + 8, high[0]);
}

template <WeightType kType>
void rows_of_group(const MatmulArgs& args, std::uint32_t group, std::size_t row,
                   std::size_t end) noexcept {
  for (; row + 4 <= end; row += 4) tile<kType, 4>(args, group, row);
  switch (end - row) {
    case 3:
      tile<kType, 3>(args, group, row);
      break;
    case 2:
      tile<kType, 2>(args, group, row);
      break;
    case 1:
      stream<kType>(args, group, row);
      break;
    default:
      break;
  }
}

/// Activations are taken in parts that stay in the second-level cache while all groups pass.
template <WeightType kType>
void matmul_integers(const MatmulArgs& args) {
  constexpr std::size_t kPartBytes = 192 * 1024;
  const std::size_t row_bytes = args.weights->num_blocks() * sizeof(QuantBlock);
  const std::size_t part = (kPartBytes / row_bytes / 4 + 1) * 4;
  for (std::size_t row = 0; row < args.num_rows; row += part) {
    const std::size_t end = row + part < args.num_rows ? row + part : args.num_rows;
    for (std::uint32_t group = args.first_group; group < args.end_group; ++group) {
      rows_of_group<kType>(args, group, row, end);
    }
  }
}

/// Largest bit pattern of |x| in a block; compared as integers, NaN is largest.
std::uint32_t largest_magnitude(const __m256 (&x)[4]) noexcept {
  const __m256i mask = _mm256_set1_epi32(0x7fffffff);
  __m256i largest = _mm256_setzero_si256();
  for (const __m256& v : x) {
    largest = _mm256_max_epi32(largest, _mm256_and_si256(_mm256_castps_si256(v), mask));
  }
  __m128i four =
      _mm_max_epi32(_mm256_castsi256_si128(largest), _mm256_extracti128_si256(largest, 1));
  four = _mm_max_epi32(four, _mm_shuffle_epi32(four, 0x4e));
  four = _mm_max_epi32(four, _mm_shuffle_epi32(four, 0xb1));
  return static_cast<std::uint32_t>(_mm_cvtsi128_si32(four));
}

/// Rounds, narrows and stores 32 quants; returns their sum.
std::int32_t store_quants(const __m256 (&x)[4], float inverse, std::int8_t* out) noexcept {
  const __m256 factor = _mm256_set1_ps(inverse);
  __m256i q[4];
  for (int i = 0; i < 4; ++i) q[i] = _mm256_cvtps_epi32(_mm256_mul_ps(x[i], factor));
  const __m256i words[2] = {_mm256_packs_epi32(q[0], q[1]), _mm256_packs_epi32(q[2], q[3])};
  // The packs work in each half of a register: put the groups of four back in order.
  const __m256i bytes = _mm256_permutevar8x32_epi32(_mm256_packs_epi16(words[0], words[1]),
                                                    _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), bytes);
  const __m256i sums =
      _mm256_madd_epi16(_mm256_add_epi16(words[0], words[1]), _mm256_set1_epi16(1));
  __m128i four = _mm_add_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
  four = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4e));
  four = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0xb1));
  return _mm_cvtsi128_si32(four);
}

void quantise(const float* x, std::uint32_t size, QuantBlock* out) {
  for (std::uint32_t b = 0; b < size / kBlock; ++b, x += kBlock) {
    const __m256 v[4] = {_mm256_loadu_ps(x), _mm256_loadu_ps(x + 8), _mm256_loadu_ps(x + 16),
                         _mm256_loadu_ps(x + 24)};
    const std::uint32_t largest = largest_magnitude(v);
    float magnitude = 0;
    std::memcpy(&magnitude, &largest, sizeof magnitude);
    const bool finite = largest < 0x7f800000U;
    QuantBlock& block = out[b];
    if (!finite || magnitude < 1e-30F) {
      std::memset(&block, 0, sizeof block);
      block.scale = finite ? 0.0F : __builtin_nanf("");
      block.scaled_sum = block.scale;
      continue;
    }
    const std::int32_t sum = store_quants(v, 127.0F / magnitude, block.q);
    block.scale = magnitude * (1.0F / 127.0F);
    block.scaled_sum = block.scale * static_cast<float>(sum);
    block.sum_by_8 = 8 * sum;
  }
}

KernelTable make_table() {
  KernelTable table;
  table.name = "avx2";
  table.uses_integers = true;
  set_lane_kernels<Avx2Lanes>(table);
  table.matmul[static_cast<std::size_t>(WeightType::q8_0)] = matmul_integers<WeightType::q8_0>;
  table.matmul[static_cast<std::size_t>(WeightType::q4_0)] = matmul_integers<WeightType::q4_0>;
  table.matmul[static_cast<std::size_t>(WeightType::q4_1)] = matmul_integers<WeightType::q4_1>;
  table.quantise = quantise;
  return table;
}

}  // namespace

const KernelTable& avx2_kernels() noexcept {
  static const KernelTable table = make_table();
  return table;
}

}  // namespace tickertape::kernels::cpu
