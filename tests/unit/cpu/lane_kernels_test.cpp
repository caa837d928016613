// Norm, SwiGLU, attention and page storage: against double arithmetic, and AVX2 against scalar.
#include "kernels/cpu/lane_kernels.hpp"

#include <bit>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/cpu/isa.hpp"
#include "kernels/cpu/kernel_table.hpp"
#include "kernels/cpu/scalar_lanes.hpp"
#include "tests/support/kernel_tables.hpp"
#include "tests/support/tiny_llama.hpp"

namespace {

using namespace tickertape;
using namespace tickertape::test;
using namespace tickertape::kernels::cpu;

std::vector<float> random_floats(std::size_t count, float amplitude, RandomNumbers& random) {
  std::vector<float> x(count);
  for (float& value : x) value = random.symmetric() * amplitude;
  return x;
}

/// Any bit pattern: infinities, NaNs and subnormals among them.
std::vector<float> random_patterns(std::size_t count, RandomNumbers& random) {
  std::vector<float> x(count);
  for (float& value : x) value = std::bit_cast<float>(static_cast<std::uint32_t>(random.bits()));
  return x;
}

std::vector<std::uint32_t> bits_of(const std::vector<float>& x) {
  std::vector<std::uint32_t> bits;
  for (const float value : x) {
    bits.push_back(std::isnan(value) ? 0x7fc00000U : std::bit_cast<std::uint32_t>(value));
  }
  return bits;
}

std::vector<float> swiglu_of(const KernelTable& table, const std::vector<float>& gate,
                             const std::vector<float>& up) {
  std::vector<float> out(gate.size());
  table.swiglu(gate.data(), up.data(), static_cast<std::uint32_t>(gate.size()), out.data());
  return out;
}

std::vector<float> norm_of(const KernelTable& table, const std::vector<float>& x,
                           const std::vector<float>& weight) {
  std::vector<float> out(x.size());
  table.rms_norm(x.data(), weight.data(), 1e-5F, static_cast<std::uint32_t>(x.size()), out.data());
  return out;
}

/// Attention of one query over `count` positions in steps.
std::vector<float> attention_of(const KernelTable& table, const std::vector<float>& query,
                                const std::vector<float>& keys, const std::vector<float>& values,
                                std::uint32_t count) {
  const auto size = static_cast<std::uint32_t>(query.size());
  std::vector<float> sums(size, 0.0F);
  AttentionState state{-std::numeric_limits<float>::infinity(), 0.0F, sums.data()};
  for (std::uint32_t start = 0; start < count; start += kKeyBlock) {
    const std::uint32_t left = count - start;
    table.attend({query.data(), keys.data() + start * size, values.data() + start * size,
                  left < kKeyBlock ? left : kKeyBlock, size},
                 state);
  }
  for (float& sum : sums) sum /= state.sum;
  return sums;
}

BOOST_AUTO_TEST_SUITE(lane_kernels)

BOOST_AUTO_TEST_CASE(the_exponential_is_good_to_two_roundings) {
  using Lanes = ScalarLanes<true>;
  double worst = 0;
  for (float x = -86.9F; x < 87.9F; x += 0.0137F) {
    const double got = exponential<Lanes>(Lanes::splat(x)).lane[0];
    const double exact = std::exp(double{x});
    worst = std::max(worst, std::abs(got - exact) / exact);
  }
  BOOST_TEST(worst < 0x1p-22);
  const auto at = [](float x) { return exponential<Lanes>(Lanes::splat(x)).lane[0]; };
  BOOST_TEST(at(0.0F) == 1.0F);
  BOOST_TEST(at(-88.0F) == 0.0F);
  BOOST_TEST(at(-std::numeric_limits<float>::infinity()) == 0.0F);
  BOOST_TEST(std::isnan(at(std::numeric_limits<float>::quiet_NaN())));
}

BOOST_AUTO_TEST_CASE(norms_and_activations_agree_with_double_arithmetic) {
  RandomNumbers random(21);
  const std::vector<float> x = random_floats(576, 20.0F, random);
  const std::vector<float> weight = random_floats(576, 2.0F, random);
  double squares = 0;
  for (const float value : x) squares += double{value} * value;
  const double scale = 1 / std::sqrt(squares / 576 + 1e-5);
  for (const KernelTable* table : available_tables()) {
    const std::vector<float> norm = norm_of(*table, x, weight);
    const std::vector<float> glu = swiglu_of(*table, x, weight);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double exact_norm = x[i] * scale * weight[i];
      BOOST_TEST(std::abs(norm[i] - exact_norm) <= std::abs(exact_norm) * 1e-6);
      const double exact_glu = x[i] / (1 + std::exp(-double{x[i]})) * weight[i];
      BOOST_TEST(std::abs(glu[i] - exact_glu) <= std::abs(exact_glu) * 1e-6 + 1e-30);
    }
  }
}

BOOST_AUTO_TEST_CASE(attention_agrees_with_double_arithmetic_for_every_count) {
  RandomNumbers random(22);
  for (const std::uint32_t size : {8U, 64U, 72U, 128U}) {
    const std::vector<float> query = random_floats(size, 1.0F, random);
    const std::vector<float> keys = random_floats(size * 128, 1.0F, random);
    const std::vector<float> values = random_floats(size * 128, 1.0F, random);
    for (const KernelTable* table : available_tables()) {
      for (std::uint32_t count = 1; count < 100; count += count < 40 ? 1 : 13) {
        std::vector<double> weights;
        double sum = 0;
        for (std::uint32_t j = 0; j < count; ++j) {
          double score = 0;
          for (std::uint32_t d = 0; d < size; ++d) score += double{query[d]} * keys[j * size + d];
          weights.push_back(std::exp(score));
          sum += weights.back();
        }
        const std::vector<float> got = attention_of(*table, query, keys, values, count);
        double worst = 0;
        for (std::uint32_t d = 0; d < size; ++d) {
          double exact = 0;
          for (std::uint32_t j = 0; j < count; ++j) exact += weights[j] * values[j * size + d];
          worst = std::max(worst, std::abs(exact / sum - got[d]));
        }
        BOOST_TEST(worst < 1e-5);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(avx2_has_the_bits_of_the_scalar_oracle) {
  if (!is_available(CpuIsa::avx2)) return;
  const KernelTable& scalar = scalar_kernels();
  const KernelTable& avx2 = avx2_kernels();
  RandomNumbers random(23);
  for (int round = 0; round < 50; ++round) {
    const float amplitude = round % 2 == 0 ? 3.0F : 60.0F;
    std::vector<float> a = random_floats(320, amplitude, random);
    const std::vector<float> b = random_floats(320, amplitude, random);
    if (round % 5 == 4) a = random_patterns(320, random);
    BOOST_TEST(bits_of(norm_of(scalar, a, b)) == bits_of(norm_of(avx2, a, b)));
    BOOST_TEST(bits_of(swiglu_of(scalar, a, b)) == bits_of(swiglu_of(avx2, a, b)));
    const std::uint32_t size = round % 3 == 0 ? 40 : 64;
    const std::vector<float> query = random_floats(size, 1.0F, random);
    const std::vector<float> keys = random_floats(size * 96, amplitude, random);
    const std::vector<float> values = random_floats(size * 96, amplitude, random);
    const auto count = static_cast<std::uint32_t>(1 + random.bits() % 90);
    BOOST_TEST(bits_of(attention_of(scalar, query, keys, values, count)) ==
               bits_of(attention_of(avx2, query, keys, values, count)));
  }
}

BOOST_AUTO_TEST_CASE(pages_hold_what_the_type_can_hold) {
  RandomNumbers random(24);
  std::vector<float> x = random_patterns(4096, random);
  const std::vector<float> usual = random_floats(4096, 8.0F, random);
  x.insert(x.end(), usual.begin(), usual.end());
  const auto size = static_cast<std::uint32_t>(x.size());
  for (const KvType type : {KvType::f16, KvType::f32, KvType::bf16}) {
    std::vector<std::byte> expected(x.size() * kv_type_bytes(type));
    scalar_kernels().store_kv(type, x.data(), size, expected.data());
    for (const KernelTable* table : available_tables()) {
      std::vector<std::byte> bytes(expected.size());
      table->store_kv(type, x.data(), size, bytes.data());
      BOOST_TEST((bytes == expected));
      std::vector<float> back(x.size());
      table->load_kv(type, bytes.data(), size, back.data());
      for (std::size_t i = 4096; i < x.size(); ++i) {
        const double step = type == KvType::f32 ? 0 : type == KvType::f16 ? 0x1p-11 : 0x1p-8;
        BOOST_TEST(std::abs(back[i] - x[i]) <= std::abs(x[i]) * step + 0x1p-25);
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
