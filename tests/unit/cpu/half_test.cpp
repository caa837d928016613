// Half floats against their definition.
#include "kernels/cpu/half.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdint>

namespace {

using namespace tickertape::kernels::cpu;

/// The value of a finite binary16 by its definition.
double f16_value(std::uint16_t half) {
  const int exponent = (half >> 10) & 31;
  const int mantissa = half & 1023;
  const double magnitude =
      exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
  return (half & 0x8000) != 0 ? -magnitude : magnitude;
}

BOOST_AUTO_TEST_SUITE(half)

BOOST_AUTO_TEST_CASE(every_f16_widens_to_its_value_and_comes_back) {
  int wrong = 0;
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float value = f16_to_float(half);
    if ((bits & 0x7c00) == 0x7c00) {
      if ((bits & 0x3ff) == 0) {
        wrong += !std::isinf(value) || float_to_f16(value) != half;
      } else {
        wrong += !std::isnan(value) || float_to_f16(value) != (half | 0x200);
      }
      continue;
    }
    wrong += value != f16_value(half) || float_to_f16(value) != half;
  }
  BOOST_TEST(wrong == 0);
}

BOOST_AUTO_TEST_CASE(floats_between_two_f16_go_to_the_nearer_and_ties_to_even) {
  int wrong = 0;
  for (std::uint32_t bits = 0; bits < 0x7bff; ++bits) {
    const auto low = static_cast<std::uint16_t>(bits);
    const auto high = static_cast<std::uint16_t>(bits + 1);
    const auto middle = static_cast<float>((f16_value(low) + f16_value(high)) / 2);
    wrong += float_to_f16(middle) != (bits % 2 == 0 ? low : high);
    wrong += float_to_f16(std::nextafter(middle, 0.0F)) != low;
    wrong += float_to_f16(-std::nextafter(middle, 1e9F)) != (high | 0x8000);
  }
  BOOST_TEST(wrong == 0);
  BOOST_TEST(float_to_f16(65519.0F) == 0x7bff);
  BOOST_TEST(float_to_f16(65520.0F) == 0x7c00);
  BOOST_TEST(float_to_f16(1e-8F) == 0);
}

BOOST_AUTO_TEST_CASE(bf16_rounds_ties_to_even) {
  BOOST_TEST(float_to_bf16(1.0F) == 0x3f80);
  BOOST_TEST(float_to_bf16(1.00390625F) == 0x3f80);  // half way to 0x3f81
  BOOST_TEST(float_to_bf16(1.01171875F) == 0x3f82);  // half way from 0x3f81
  BOOST_TEST(float_to_bf16(1.0039064F) == 0x3f81);
  BOOST_TEST(float_to_bf16(3.4e38F) == 0x7f80);
  BOOST_TEST(std::isnan(bf16_to_float(float_to_bf16(std::nanf("1")))));
  BOOST_TEST(bf16_to_float(0xc2c8) == -100.0F);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
