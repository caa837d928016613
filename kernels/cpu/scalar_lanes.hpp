// ScalarLanes: eight floats that behave as one AVX2 register, in plain C++.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "kernels/cpu/half.hpp"

namespace tickertape::kernels::cpu {

/// With `kFused`, fma() rounds once, as vfmadd does: then every result has the bits of Avx2Lanes.
template <bool kFused>
struct ScalarLanes {
  struct Floats {
    float lane[8];
  };

  static Floats splat(float x) noexcept { return {{x, x, x, x, x, x, x, x}}; }
  static Floats load(const float* from) noexcept {
    Floats x;
    std::memcpy(x.lane, from, sizeof x.lane);
    return x;
  }
  static void store(float* to, const Floats& x) noexcept { std::memcpy(to, x.lane, sizeof x.lane); }
  template <class Function>
  static Floats each(Function function) noexcept {
    Floats x;
    for (int i = 0; i < 8; ++i) x.lane[i] = function(i);
    return x;
  }
  static Floats load_f16(const std::uint16_t* from) noexcept {
    return each([&](int i) { return f16_to_float(from[i]); });
  }
  static Floats load_bf16(const std::uint16_t* from) noexcept {
    return each([&](int i) { return bf16_to_float(from[i]); });
  }
  static void store_f16(std::uint16_t* to, const Floats& x) noexcept {
    for (int i = 0; i < 8; ++i) to[i] = float_to_f16(x.lane[i]);
  }
  static void store_bf16(std::uint16_t* to, const Floats& x) noexcept {
    for (int i = 0; i < 8; ++i) to[i] = float_to_bf16(x.lane[i]);
  }
  static Floats add(const Floats& a, const Floats& b) noexcept {
    return each([&](int i) { return a.lane[i] + b.lane[i]; });
  }
  static Floats sub(const Floats& a, const Floats& b) noexcept {
    return each([&](int i) { return a.lane[i] - b.lane[i]; });
  }
  static Floats mul(const Floats& a, const Floats& b) noexcept {
    return each([&](int i) { return a.lane[i] * b.lane[i]; });
  }
  static Floats div(const Floats& a, const Floats& b) noexcept {
    return each([&](int i) { return a.lane[i] / b.lane[i]; });
  }
  /// b when either is NaN, as vmaxps.
  static Floats max(const Floats& a, const Floats& b) noexcept {
    return each([&](int i) { return a.lane[i] > b.lane[i] ? a.lane[i] : b.lane[i]; });
  }
  static Floats min(const Floats& a, const Floats& b) noexcept {
    return each([&](int i) { return a.lane[i] < b.lane[i] ? a.lane[i] : b.lane[i]; });
  }
  /// a * b + c
  static Floats fma(const Floats& a, const Floats& b, const Floats& c) noexcept {
    return each([&](int i) {
      if constexpr (kFused) return std::fma(a.lane[i], b.lane[i], c.lane[i]);
      return a.lane[i] * b.lane[i] + c.lane[i];
    });
  }
  /// `x` where a >= b (also where either is NaN), else zero.
  static Floats keep_unless_less(const Floats& a, const Floats& b, const Floats& x) noexcept {
    return each([&](int i) { return a.lane[i] < b.lane[i] ? 0.0F : x.lane[i]; });
  }
  /// 2^n for n + kRoundMagic, -126 <= n <= 127.
  static Floats power_of_two(const Floats& n_plus_magic) noexcept {
    return each([&](int i) {
      return std::bit_cast<float>((std::bit_cast<std::uint32_t>(n_plus_magic.lane[i]) + 127U)
                                  << 23);
    });
  }
  static float sum(const Floats& x) noexcept {
    return ((x.lane[0] + x.lane[1]) + (x.lane[2] + x.lane[3])) +
           ((x.lane[4] + x.lane[5]) + (x.lane[6] + x.lane[7]));
  }
  /// Lane j of the result is sum(x[j]).
  static Floats sum_each(const Floats* x) noexcept {
    return each([&](int i) { return sum(x[i]); });
  }
  static float max_lane(const Floats& x) noexcept {
    const auto larger = [](float a, float b) { return a > b ? a : b; };
    const float low = larger(larger(x.lane[0], x.lane[1]), larger(x.lane[2], x.lane[3]));
    const float high = larger(larger(x.lane[4], x.lane[5]), larger(x.lane[6], x.lane[7]));
    return larger(low, high);
  }
};

}  // namespace tickertape::kernels::cpu
