// Packed matrices give back the numbers of the file.
#include "kernels/cpu/packed_matrix.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <vector>

#include "tests/unit/cpu/matrices.hpp"

namespace {

using namespace tickertape;
using namespace tickertape::test;
using namespace tickertape::kernels::cpu;

bool same_to_a_rounding(double exact, float got) {
  return std::abs(exact - got) <= std::abs(exact) * 0x1p-23 + 0x1p-24;
}

BOOST_AUTO_TEST_SUITE(packed_matrix)

BOOST_AUTO_TEST_CASE(rows_and_blocks_widen_to_the_numbers_of_the_file) {
  RandomNumbers random(3);
  for (const GgmlType type : kComputableTypes) {
    const TestMatrix matrix(type, 37, 96, random);
    const std::vector<double> exact = matrix.numbers();
    int wrong = 0;
    std::vector<float> row(96);
    for (std::uint32_t r = 0; r < 37; ++r) {
      dequantise_row(matrix.packed, r, row);
      for (std::uint32_t k = 0; k < 96; ++k)
        wrong += !same_to_a_rounding(exact[r * 96 + k], row[k]);
    }
    std::vector<float> block(kBlock * kGroupRows);
    for (std::uint32_t group = 0; group < 3; ++group) {
      dequantise_block(matrix.packed.type, matrix.packed.block(group, 2), block.data());
      for (std::uint32_t i = 0; i < block.size(); ++i) {
        const std::uint32_t r = group * kGroupRows + i % kGroupRows;
        const double wanted = r < 37 ? exact[r * 96 + 64 + i / kGroupRows] : 0.0;
        wrong += !same_to_a_rounding(wanted, block[i]);
      }
    }
    BOOST_TEST(wrong == 0, kernels::formats::traits(type).name << " has wrong numbers");
  }
}

BOOST_AUTO_TEST_CASE(packing_takes_no_more_bytes_than_the_file) {
  RandomNumbers random(4);
  for (const GgmlType type : kComputableTypes) {
    const TestMatrix matrix(type, 32, 64, random);
    BOOST_TEST(matrix.packed.size_bytes() == matrix.file_bytes.size());
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
