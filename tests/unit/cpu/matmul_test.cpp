// Matrix products of every type and path against exact ones, and against each other bit by bit.
#include <bit>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "kernels/cpu/isa.hpp"
#include "kernels/cpu/kernel_table.hpp"
#include "tests/support/kernel_tables.hpp"
#include "tests/unit/cpu/matrices.hpp"

namespace {

using namespace tickertape;
using namespace tickertape::test;
using namespace tickertape::kernels::cpu;

std::vector<float> random_inputs(std::size_t count, RandomNumbers& random) {
  std::vector<float> x(count);
  for (float& value : x) value = random.symmetric() * 3.0F;
  return x;
}

std::vector<QuantBlock> quantised(const KernelTable& table, const std::vector<float>& x) {
  std::vector<QuantBlock> quants(x.size() / kBlock);
  table.quantise(x.data(), static_cast<std::uint32_t>(x.size()), quants.data());
  return quants;
}

/// [num_rows][padded outputs]
std::vector<float> product(const KernelTable& table, const PackedMatrix& weights,
                           const std::vector<float>& x, std::uint32_t num_rows) {
  const std::vector<QuantBlock> quants = quantised(table, x);
  MatmulArgs args;
  args.weights = &weights;
  args.x = x.data();
  args.quants = quants.data();
  args.out_stride = std::size_t{weights.num_groups()} * kGroupRows;
  std::vector<float> out(num_rows * args.out_stride, -1.0F);
  args.out = out.data();
  args.num_rows = num_rows;
  args.end_group = weights.num_groups();
  table.matmul[static_cast<std::size_t>(weights.type)](args);
  return out;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) && std::isnan(b[i])) continue;  // payloads may differ
    if (std::bit_cast<std::uint32_t>(a[i]) != std::bit_cast<std::uint32_t>(b[i])) return false;
  }
  return true;
}

/// The largest error that rounding permits: of the additions, and of 8-bit activations half a step
/// each, where a step is the block's largest magnitude over 127.
double tolerance(const std::vector<double>& weights, const float* x, std::uint32_t cols,
                 bool integers) {
  double magnitudes = 0;
  double steps = 0;
  for (std::uint32_t b = 0; b < cols; b += kBlock) {
    double largest = 0;
    double weight_sum = 0;
    for (std::uint32_t k = b; k < b + kBlock; ++k) {
      largest = std::max(largest, std::abs(double{x[k]}));
      weight_sum += std::abs(weights[k]);
      magnitudes += std::abs(weights[k] * x[k]);
    }
    steps += weight_sum * largest / 127 * 0.5001;
    magnitudes += 8 * weight_sum * largest;  // q4_1's two terms may cancel
  }
  return magnitudes * cols * 0x1p-24 + (integers ? steps : 0.0);
}

BOOST_AUTO_TEST_SUITE(matmul)

BOOST_AUTO_TEST_CASE(products_agree_with_exact_ones) {
  RandomNumbers random(11);
  for (const GgmlType type : kComputableTypes) {
    for (const std::uint32_t cols : {32U, 64U, 576U}) {
      const TestMatrix matrix(type, 40, cols, random);
      const std::vector<double> numbers = matrix.numbers();
      const std::vector<float> x = random_inputs(7 * cols, random);
      for (const KernelTable* table : available_tables()) {
        const bool integers = table->uses_integers && is_integer(matrix.packed.type);
        const std::vector<float> out = product(*table, matrix.packed, x, 7);
        int wrong = 0;
        for (std::uint32_t r = 0; r < 7; ++r) {
          for (std::uint32_t j = 0; j < 40; ++j) {
            const std::vector<double> w(numbers.begin() + j * cols,
                                        numbers.begin() + (j + 1) * cols);
            double exact = 0;
            for (std::uint32_t k = 0; k < cols; ++k) exact += w[k] * x[r * cols + k];
            const double limit = tolerance(w, x.data() + r * cols, cols, integers);
            wrong += !(std::abs(out[r * 48 + j] - exact) <= limit);
          }
          for (std::uint32_t j = 40; j < 48; ++j) wrong += out[r * 48 + j] != 0.0F;
        }
        BOOST_TEST(wrong == 0, table->name << ", " << kernels::formats::traits(type).name << ", "
                                           << cols << " inputs");
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(a_row_has_the_same_bits_among_any_number_of_rows) {
  RandomNumbers random(12);
  for (const GgmlType type : kComputableTypes) {
    const TestMatrix matrix(type, 48, 96, random);
    const std::vector<float> x = random_inputs(70 * 96, random);
    for (const KernelTable* table : available_tables()) {
      const std::vector<float> all = product(*table, matrix.packed, x, 70);
      for (std::uint32_t row = 0; row < 70; row += 23) {
        for (const std::uint32_t count : {1U, 2U, 3U, 4U, 5U, 6U, 7U, 9U}) {
          if (row + count > 70) continue;
          const std::vector<float> part(x.begin() + row * 96, x.begin() + (row + count) * 96);
          const std::vector<float> expected(all.begin() + row * 48,
                                            all.begin() + (row + count) * 48);
          BOOST_TEST(same_bits(product(*table, matrix.packed, part, count), expected));
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(adding_and_parts_of_the_groups_give_the_same_bits) {
  RandomNumbers random(13);
  for (const GgmlType type : kComputableTypes) {
    const TestMatrix matrix(type, 64, 64, random);
    const std::vector<float> x = random_inputs(5 * 64, random);
    for (const KernelTable* table : available_tables()) {
      const std::vector<float> whole = product(*table, matrix.packed, x, 5);
      const std::vector<QuantBlock> quants = quantised(*table, x);
      std::vector<float> out(5 * 64, 0.0F);
      for (std::uint32_t group = 0; group < 4; ++group) {
        table->matmul[static_cast<std::size_t>(matrix.packed.type)](
            {&matrix.packed, x.data(), quants.data(), out.data(), 64, 5, group, group + 1, true});
      }
      for (std::size_t i = 0; i < out.size(); ++i) BOOST_TEST(out[i] == whole[i] + 0.0F);
    }
  }
}

/// Weights of extreme bytes and scales.
std::string extreme_bytes(GgmlType type, std::uint64_t num_elements, RandomNumbers& random) {
  std::string bytes = random_tensor(type, num_elements, 1.0F, random);
  const std::size_t block = kernels::formats::traits(type).block_bytes;
  const std::size_t first = type == GgmlType::q4_1 ? 4 : 2;
  for (std::size_t at = 0; at + block <= bytes.size(); at += 3 * block) {
    const char filler = static_cast<char>(at / block % 2 == 0 ? 0x80 : 0xff);
    for (std::size_t i = first; i < block; ++i) bytes[at + i] = filler;
  }
  return bytes;
}

BOOST_AUTO_TEST_CASE(avx2_products_have_the_bits_of_the_scalar_oracle) {
  if (!is_available(CpuIsa::avx2)) return;
  RandomNumbers random(14);
  for (const GgmlType type : kComputableTypes) {
    for (const std::uint32_t cols : {32U, 96U, 1536U}) {
      const bool blocks = is_integer(weight_type(type));
      const TestMatrix matrix(type, 33, cols,
                              blocks ? extreme_bytes(type, 33 * cols, random)
                                     : random_tensor(type, 33 * cols, 1.0F, random));
      std::vector<float> x = random_inputs(9 * cols, random);
      for (std::uint32_t k = 0; k < cols; ++k) {
        x[k] = k % 2 == 0 ? 1e30F : -1e30F;  // every quant at its end
        x[cols + k] = -2.0F;                 // all of one sign
        x[2 * cols + k] = 1e-36F;            // counts as zero
        x[3 * cols + k] *= k % 64 == 0 ? 1e4F : 1e-4F;
      }
      x[4 * cols] = std::numeric_limits<float>::infinity();
      x[5 * cols + cols - 1] = std::numeric_limits<float>::quiet_NaN();
      BOOST_TEST(same_bits(product(avx2_kernels(), matrix.packed, x, 9),
                           product(scalar_kernels(), matrix.packed, x, 9)),
                 kernels::formats::traits(type).name << ", " << cols << " inputs");
    }
  }
}

BOOST_AUTO_TEST_CASE(every_pair_of_an_extreme_weight_and_activation_multiplies_exactly) {
  for (const KernelTable* table : available_tables()) {
    if (!table->uses_integers) continue;
    for (const int weight : {-128, -127, -1, 0, 1, 127}) {
      std::string bytes;
      for (int row = 0; row < 16; ++row) {
        append_bytes(bytes, float_to_f16(1.0F));
        bytes.append(32, static_cast<char>(weight));
      }
      const TestMatrix matrix(GgmlType::q8_0, 16, 32, bytes);
      for (const float sign : {1.0F, -1.0F}) {
        const std::vector<float> x(32, 127.0F * sign);
        const std::vector<float> out = product(*table, matrix.packed, x, 1);
        for (const float value : out) BOOST_TEST(value == 32.0F * 127.0F * sign * weight);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(a_bad_number_spoils_its_own_row_only) {
  RandomNumbers random(15);
  for (const GgmlType type : kComputableTypes) {
    const TestMatrix matrix(type, 16, 64, random);
    for (const KernelTable* table : available_tables()) {
      std::vector<float> x = random_inputs(3 * 64, random);
      const std::vector<float> clean = product(*table, matrix.packed, x, 3);
      for (const float bad :
           {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
        x[64 + 40] = bad;
        const std::vector<float> out = product(*table, matrix.packed, x, 3);
        for (std::uint32_t j = 0; j < 16; ++j) {
          BOOST_TEST(out[j] == clean[j]);
          BOOST_TEST(!std::isfinite(out[16 + j]));
          BOOST_TEST(out[32 + j] == clean[32 + j]);
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(quantising_errs_by_half_a_step_at_most) {
  RandomNumbers random(16);
  const std::vector<float> x = random_inputs(3200, random);
  for (const KernelTable* table : available_tables()) {
    const std::vector<QuantBlock> quants = quantised(*table, x);
    for (std::size_t b = 0; b < quants.size(); ++b) {
      int sum = 0;
      for (std::size_t i = 0; i < kBlock; ++i) {
        const double error = x[b * kBlock + i] - double{quants[b].scale} * quants[b].q[i];
        BOOST_TEST(std::abs(error) <= quants[b].scale * 0.5001);
        sum += quants[b].q[i];
      }
      BOOST_TEST(quants[b].sum_by_8 == 8 * sum);
      BOOST_TEST(quants[b].scaled_sum == quants[b].scale * static_cast<float>(sum));
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
