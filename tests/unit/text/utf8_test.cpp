// Utf8Unit: well-formed sequences, maximal subparts, cut-off tails.
#include "kernels/text/utf8.hpp"

#include <boost/test/unit_test.hpp>
#include <string>
#include <string_view>

namespace tickertape::kernels::text {
namespace {

using Kind = Utf8Unit::Kind;

std::string encoded(std::uint32_t code_point) {
  const auto tail = [&](int shift) {
    return static_cast<char>(0x80 | (code_point >> shift & 0x3f));
  };
  if (code_point < 0x80) return {static_cast<char>(code_point)};
  if (code_point < 0x800) return {static_cast<char>(0xc0 | code_point >> 6), tail(0)};
  if (code_point < 0x10000) return {static_cast<char>(0xe0 | code_point >> 12), tail(6), tail(0)};
  return {static_cast<char>(0xf0 | code_point >> 18), tail(12), tail(6), tail(0)};
}

bool is(std::string_view text, Kind kind, std::size_t size) {
  const Utf8Unit unit = next_unit(text);
  return unit.kind == kind && unit.size == size;
}

BOOST_AUTO_TEST_SUITE(utf8)

BOOST_AUTO_TEST_CASE(every_scalar_value_is_a_character_and_its_beginnings_are_unfinished) {
  std::size_t wrong = 0;
  for (std::uint32_t code_point = 0; code_point <= 0x10ffff; ++code_point) {
    if (code_point >= 0xd800 && code_point <= 0xdfff) continue;
    const std::string bytes = encoded(code_point);
    wrong += is(bytes + "x", Kind::character, bytes.size()) ? 0 : 1;
    for (std::size_t size = 1; size < bytes.size(); ++size) {
      wrong += is(std::string_view(bytes).substr(0, size), Kind::unfinished, size) ? 0 : 1;
    }
  }
  BOOST_TEST(wrong == 0U);
}

BOOST_AUTO_TEST_CASE(surrogates_overlong_forms_and_large_values_are_broken) {
  for (std::uint32_t code_point = 0xd800; code_point <= 0xdfff; ++code_point) {
    BOOST_TEST(is(encoded(code_point), Kind::broken, 1U));
  }
  for (const char* bytes :
       {"\xc0\x80", "\xc1\xbf", "\xe0\x80\x80", "\xe0\x9f\xbf", "\xf0\x80\x80\x80",
        "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\x80", "\xbf", "\xff"}) {
    BOOST_TEST(is(bytes, Kind::broken, 1U));
  }
}

// The example of the standard, table 3-11: 61 | F1 80 80 | E1 80 | C2 | 62 | 80 | 63 ...
BOOST_AUTO_TEST_CASE(maximal_subparts) {
  const std::string text =
      "\xf1\x80\x80\xe1\x80\xc2"
      "b\x80"
      "c";
  std::string sizes;
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Unit unit = next_unit(std::string_view(text).substr(at));
    sizes += static_cast<char>('0' + unit.size);
    sizes += unit.kind == Kind::character ? "c " : "b ";
    at += unit.size;
  }
  BOOST_TEST(sizes == "3b 2b 1b 1c 1b 1c ");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace tickertape::kernels::text
