// Kernels on floats, written once over eight lanes: the order of additions is the same for all.
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>

#include "kernels/cpu/kernel_table.hpp"

namespace tickertape::kernels::cpu {

/// Adding it to |x| < 2^22 leaves x rounded to an integer, ties to even, in the low mantissa bits.
inline constexpr float kRoundMagic = 12582912.0F;

/// e^x to about 1 ulp; 0 below -87, clamped above 88. Cody and Waite's reduction, then the Taylor
/// polynomial of degree 7 on [-ln2/2, ln2/2].
template <class Lanes>
typename Lanes::Floats exponential(typename Lanes::Floats x) noexcept {
  using F = typename Lanes::Floats;
  const F lowest = Lanes::splat(-87.0F);
  const F clamped = Lanes::min(Lanes::splat(88.0F), Lanes::max(lowest, x));
  const F magic = Lanes::splat(kRoundMagic);
  const F n_plus_magic = Lanes::fma(clamped, Lanes::splat(1.44269504F), magic);
  const F n = Lanes::sub(n_plus_magic, magic);
  F r = Lanes::fma(n, Lanes::splat(-0.693359375F), clamped);
  r = Lanes::fma(n, Lanes::splat(2.12194440e-4F), r);
  constexpr float kCoefficients[] = {1.0F / 720, 1.0F / 120, 1.0F / 24, 1.0F / 6, 0.5F, 1.0F, 1.0F};
  F power = Lanes::splat(1.0F / 5040);
  for (const float coefficient : kCoefficients) {
    power = Lanes::fma(power, r, Lanes::splat(coefficient));
  }
  const F result = Lanes::mul(power, Lanes::power_of_two(n_plus_magic));
  return Lanes::keep_unless_less(x, lowest, result);
}

template <class Lanes>
void rms_norm(const float* x, const float* weight, float epsilon, std::uint32_t size, float* out) {
  using F = typename Lanes::Floats;
  F sums[4] = {Lanes::splat(0), Lanes::splat(0), Lanes::splat(0), Lanes::splat(0)};
  for (std::uint32_t i = 0; i < size; i += 32) {
    for (std::uint32_t j = 0; j < 4; ++j) {
      const F v = Lanes::load(x + i + 8 * j);
      sums[j] = Lanes::fma(v, v, sums[j]);
    }
  }
  const float sum =
      Lanes::sum(Lanes::add(Lanes::add(sums[0], sums[1]), Lanes::add(sums[2], sums[3])));
  const float mean = sum / static_cast<float>(size) + epsilon;
  const F scale = Lanes::splat(1.0F / __builtin_sqrtf(mean));
  for (std::uint32_t i = 0; i < size; i += 8) {
    const F scaled = Lanes::mul(Lanes::load(x + i), scale);
    Lanes::store(out + i, Lanes::mul(scaled, Lanes::load(weight + i)));
  }
}

template <class Lanes>
void swiglu(const float* gate, const float* up, std::uint32_t size, float* out) {
  using F = typename Lanes::Floats;
  const F one = Lanes::splat(1.0F);
  for (std::uint32_t i = 0; i < size; i += 8) {
    const F g = Lanes::load(gate + i);
    const F e = exponential<Lanes>(Lanes::sub(Lanes::splat(0), g));
    const F silu = Lanes::div(g, Lanes::add(one, e));
    Lanes::store(out + i, Lanes::mul(silu, Lanes::load(up + i)));
  }
}

/// values[d] = values[d] * decay + sum over j of weights[j] * v[j][d], for 8 * kCount numbers.
template <class Lanes, int kCount>
void add_values(const AttentionStep& step, const float* weights, float decay, std::uint32_t first,
                float* values) {
  using F = typename Lanes::Floats;
  F sums[kCount];
  for (int i = 0; i < kCount; ++i) {
    sums[i] = Lanes::mul(Lanes::load(values + first + 8 * i), Lanes::splat(decay));
  }
  const float* v = step.values + first;
  for (std::uint32_t j = 0; j < step.count; ++j, v += step.head_size) {
    const F weight = Lanes::splat(weights[j]);
    for (int i = 0; i < kCount; ++i) {
      sums[i] = Lanes::fma(weight, Lanes::load(v + 8 * i), sums[i]);
    }
  }
  for (int i = 0; i < kCount; ++i) Lanes::store(values + first + 8 * i, sums[i]);
}

/// Scores of eight neighbouring keys.
template <class Lanes>
typename Lanes::Floats scores_of(const AttentionStep& step, std::uint32_t first_key) noexcept {
  using F = typename Lanes::Floats;
  F sums[8];
  for (F& sum : sums) sum = Lanes::splat(0);
  const float* keys = step.keys + std::size_t{first_key} * step.head_size;
  for (std::uint32_t d = 0; d < step.head_size; d += 8) {
    const F q = Lanes::load(step.query + d);
    for (std::uint32_t j = 0; j < 8; ++j) {
      sums[j] = Lanes::fma(q, Lanes::load(keys + std::size_t{j} * step.head_size + d), sums[j]);
    }
  }
  return Lanes::sum_each(sums);
}

/// One step of the softmax that is computed as it goes (Milakov and Gimelshein 2018). Blocks begin
/// at multiples of kKeyBlock, so a query's result does not depend on where its chunk begins.
template <class Lanes>
void attend(const AttentionStep& step, AttentionState& state) {
  using F = typename Lanes::Floats;
  constexpr float kNothing = -std::numeric_limits<float>::infinity();
  alignas(32) float scores[kKeyBlock];
  for (float& score : scores) score = kNothing;
  for (std::uint32_t j = 0; j < step.count; j += 8) {
    Lanes::store(scores + j, scores_of<Lanes>(step, j));
  }
  for (std::uint32_t j = step.count; j < kKeyBlock; ++j) scores[j] = kNothing;

  F largest = Lanes::splat(state.max_score);
  for (std::uint32_t j = 0; j < kKeyBlock; j += 8) {
    largest = Lanes::max(Lanes::load(scores + j), largest);
  }
  const float max_score = Lanes::max_lane(largest);
  alignas(32) float decays[8];
  Lanes::store(decays, exponential<Lanes>(Lanes::splat(state.max_score - max_score)));
  F sum = Lanes::splat(0);
  for (std::uint32_t j = 0; j < kKeyBlock; j += 8) {
    const F weight =
        exponential<Lanes>(Lanes::sub(Lanes::load(scores + j), Lanes::splat(max_score)));
    Lanes::store(scores + j, weight);
    sum = Lanes::add(sum, weight);
  }
  state.sum = state.sum * decays[0] + Lanes::sum(sum);
  state.max_score = max_score;
  std::uint32_t d = 0;
  for (; d + 64 <= step.head_size; d += 64) {
    add_values<Lanes, 8>(step, scores, decays[0], d, state.values);
  }
  for (; d < step.head_size; d += 8) {
    add_values<Lanes, 1>(step, scores, decays[0], d, state.values);
  }
}

template <class Lanes>
void store_kv(KvType type, const float* from, std::uint32_t size, std::byte* to) {
  for (std::uint32_t i = 0; i < size; i += 8) {
    const auto x = Lanes::load(from + i);
    if (type == KvType::f32) Lanes::store(reinterpret_cast<float*>(to) + i, x);
    if (type == KvType::f16) Lanes::store_f16(reinterpret_cast<std::uint16_t*>(to) + i, x);
    if (type == KvType::bf16) Lanes::store_bf16(reinterpret_cast<std::uint16_t*>(to) + i, x);
  }
}

template <class Lanes>
void load_kv(KvType type, const std::byte* from, std::uint32_t size, float* to) {
  const auto* halves = reinterpret_cast<const std::uint16_t*>(from);
  if (type == KvType::f16) {
    for (std::uint32_t i = 0; i < size; i += 8) Lanes::store(to + i, Lanes::load_f16(halves + i));
  } else if (type == KvType::bf16) {
    for (std::uint32_t i = 0; i < size; i += 8) Lanes::store(to + i, Lanes::load_bf16(halves + i));
  } else {
    const auto* floats = reinterpret_cast<const float*>(from);
    for (std::uint32_t i = 0; i < size; i += 8) Lanes::store(to + i, Lanes::load(floats + i));
  }
}

template <class Lanes, WeightType kType>
typename Lanes::Floats load_weights(const std::byte* from, std::size_t index) noexcept {
  if constexpr (kType == WeightType::f32) {
    return Lanes::load(reinterpret_cast<const float*>(from) + index);
  } else if constexpr (kType == WeightType::f16) {
    return Lanes::load_f16(reinterpret_cast<const std::uint16_t*>(from) + index);
  } else {
    return Lanes::load_bf16(reinterpret_cast<const std::uint16_t*>(from) + index);
  }
}

/// kRows activation rows x 8 * kHalves outputs. Even and odd inputs have a sum each.
template <class Lanes, WeightType kType, int kRows, int kHalves>
void float_tile(const MatmulArgs& args, std::uint32_t group, std::uint32_t row,
                std::uint32_t half) {
  using F = typename Lanes::Floats;
  const std::uint32_t size = args.weights->num_cols;
  const float* x = args.x + std::size_t{row} * size;
  F sums[2][kRows][kHalves];
  for (auto& parity : sums) {
    for (auto& of_row : parity) {
      for (F& sum : of_row) sum = Lanes::splat(0);
    }
  }
  const std::byte* weights = args.weights->block(group, 0);
  for (std::uint32_t k = 0; k < size; k += 2) {
    for (std::uint32_t parity = 0; parity < 2; ++parity) {
      const std::size_t place = std::size_t{k + parity} * kGroupRows + 8 * half;
      for (int h = 0; h < kHalves; ++h) {
        const F w = load_weights<Lanes, kType>(weights, place + 8 * static_cast<std::size_t>(h));
        for (int r = 0; r < kRows; ++r) {
          const F input = Lanes::splat(x[static_cast<std::size_t>(r) * size + k + parity]);
          sums[parity][r][h] = Lanes::fma(w, input, sums[parity][r][h]);
        }
      }
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int h = 0; h < kHalves; ++h) {
      float* out = args.out + (row + static_cast<std::size_t>(r)) * args.out_stride +
                   std::size_t{group} * kGroupRows + 8 * (half + static_cast<std::size_t>(h));
      const F sum = Lanes::add(sums[0][r][h], sums[1][r][h]);
      Lanes::store(out, args.add ? Lanes::add(Lanes::load(out), sum) : sum);
    }
  }
}

template <class Lanes, WeightType kType>
void matmul_floats(const MatmulArgs& args) {
  for (std::uint32_t group = args.first_group; group < args.end_group; ++group) {
    std::uint32_t row = 0;
    for (; row + 4 <= args.num_rows; row += 4) {
      float_tile<Lanes, kType, 4, 1>(args, group, row, 0);
      float_tile<Lanes, kType, 4, 1>(args, group, row, 1);
    }
    for (; row < args.num_rows; ++row) float_tile<Lanes, kType, 1, 2>(args, group, row, 0);
  }
}

/// Fills in everything of a table that works on floats.
template <class Lanes>
void set_lane_kernels(KernelTable& table) {
  table.matmul[static_cast<std::size_t>(WeightType::f32)] = matmul_floats<Lanes, WeightType::f32>;
  table.matmul[static_cast<std::size_t>(WeightType::f16)] = matmul_floats<Lanes, WeightType::f16>;
  table.matmul[static_cast<std::size_t>(WeightType::bf16)] = matmul_floats<Lanes, WeightType::bf16>;
  table.rms_norm = rms_norm<Lanes>;
  table.swiglu = swiglu<Lanes>;
  table.attend = attend<Lanes>;
  table.store_kv = store_kv<Lanes>;
  table.load_kv = load_kv<Lanes>;
}

}  // namespace tickertape::kernels::cpu
