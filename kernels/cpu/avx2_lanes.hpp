// Avx2Lanes: eight floats in one AVX2 register. Only for sources compiled with -mavx2 -mfma -mf16c.
#pragma once
#include <immintrin.h>

#include <cstdint>

namespace tickertape::kernels::cpu {
// Internal linkage: a copy of these functions must never be chosen for code that runs elsewhere.
namespace {

struct Avx2Lanes {
  using Floats = __m256;

  static Floats splat(float x) noexcept { return _mm256_set1_ps(x); }
  static Floats load(const float* from) noexcept { return _mm256_loadu_ps(from); }
  static void store(float* to, Floats x) noexcept { _mm256_storeu_ps(to, x); }
  static Floats load_f16(const std::uint16_t* from) noexcept {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  }
  static Floats load_bf16(const std::uint16_t* from) noexcept {
    const __m128i half = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(half), 16));
  }
  static void store_f16(std::uint16_t* to, Floats x) noexcept {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to),
                     _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  }
  static void store_bf16(std::uint16_t* to, Floats x) noexcept {
    const __m256i bits = _mm256_castps_si256(x);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    const __m256i rounded = _mm256_srli_epi32(
        _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff))), 16);
    const __m256i quiet = _mm256_or_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(0x40));
    const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_UNORD_Q));
    const __m256i words = _mm256_blendv_epi8(rounded, quiet, nan);
    const __m128i packed =
        _mm_packus_epi32(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), packed);
  }
  static Floats add(Floats a, Floats b) noexcept { return _mm256_add_ps(a, b); }
  static Floats sub(Floats a, Floats b) noexcept { return _mm256_sub_ps(a, b); }
  static Floats mul(Floats a, Floats b) noexcept { return _mm256_mul_ps(a, b); }
  static Floats div(Floats a, Floats b) noexcept { return _mm256_div_ps(a, b); }
  static Floats max(Floats a, Floats b) noexcept { return _mm256_max_ps(a, b); }
  static Floats min(Floats a, Floats b) noexcept { return _mm256_min_ps(a, b); }
  static Floats fma(Floats a, Floats b, Floats c) noexcept { return _mm256_fmadd_ps(a, b, c); }
  static Floats keep_unless_less(Floats a, Floats b, Floats x) noexcept {
    return _mm256_andnot_ps(_mm256_cmp_ps(a, b, _CMP_LT_OQ), x);
  }
  static Floats power_of_two(Floats n_plus_magic) noexcept {
    return _mm256_castsi256_ps(_mm256_slli_epi32(
        _mm256_add_epi32(_mm256_castps_si256(n_plus_magic), _mm256_set1_epi32(127)), 23));
  }
  static float sum(Floats x) noexcept {
    const Floats pairs = _mm256_hadd_ps(x, x);
    const Floats fours = _mm256_hadd_ps(pairs, pairs);
    return _mm_cvtss_f32(
        _mm_add_ss(_mm256_castps256_ps128(fours), _mm256_extractf128_ps(fours, 1)));
  }
  static Floats sum_each(const Floats* x) noexcept {
    const Floats a = _mm256_hadd_ps(_mm256_hadd_ps(x[0], x[1]), _mm256_hadd_ps(x[2], x[3]));
    const Floats b = _mm256_hadd_ps(_mm256_hadd_ps(x[4], x[5]), _mm256_hadd_ps(x[6], x[7]));
    return _mm256_add_ps(_mm256_permute2f128_ps(a, b, 0x20), _mm256_permute2f128_ps(a, b, 0x31));
  }
  static float max_lane(Floats x) noexcept {
    alignas(32) float lane[8];
    _mm256_store_ps(lane, x);
    const auto larger = [](float a, float b) { return a > b ? a : b; };
    const float low = larger(larger(lane[0], lane[1]), larger(lane[2], lane[3]));
    const float high = larger(larger(lane[4], lane[5]), larger(lane[6], lane[7]));
    return larger(low, high);
  }
};

}  // namespace
}  // namespace tickertape::kernels::cpu
