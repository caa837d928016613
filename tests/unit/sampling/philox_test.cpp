// Philox against published vectors, and the uniform numbers made of it.
#include "kernels/sampling/philox.hpp"

#include <boost/test/unit_test.hpp>
#include <set>

using namespace tickertape::kernels::sampling;

BOOST_AUTO_TEST_SUITE(philox)

// The three philox4x32 vectors of ten rounds in Random123's file of known answers.
BOOST_AUTO_TEST_CASE(known_answers) {
  static_assert(philox4x32({0, 0, 0, 0}, {0, 0}) ==
                PhiloxCounter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  constexpr std::uint32_t kOnes = 0xffffffff;
  BOOST_TEST((philox4x32({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}) ==
              PhiloxCounter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  BOOST_TEST(
      (philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
       PhiloxCounter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

BOOST_AUTO_TEST_CASE(uniform_lies_above_zero_and_up_to_one) {
  double sum = 0;
  constexpr int kCount = 100000;
  for (int i = 0; i < kCount; ++i) {
    const double u = philox_uniform(7, 0, static_cast<std::uint64_t>(i));
    BOOST_REQUIRE(u > 0);
    BOOST_REQUIRE(u <= 1);
    sum += u;
  }
  // Five standard deviations of the mean: 5 / sqrt(12 * kCount).
  BOOST_TEST(std::abs(sum / kCount - 0.5) < 0.0046);
}

BOOST_AUTO_TEST_CASE(every_part_of_the_key_counts) {
  std::set<double> seen;
  const std::uint64_t high = 1ULL << 32;
  for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{1}, high}) {
    for (const std::uint32_t choice : {0U, 1U}) {
      for (const std::uint64_t position : {std::uint64_t{0}, std::uint64_t{1}, high}) {
        seen.insert(philox_uniform(seed, choice, position));
      }
    }
  }
  BOOST_TEST(seen.size() == 3U * 2U * 3U);
}

BOOST_AUTO_TEST_SUITE_END()
