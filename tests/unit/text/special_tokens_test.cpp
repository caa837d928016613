// SpecialTokens: longest match, control tokens only where they are allowed.
#include "kernels/text/special_tokens.hpp"

#include <boost/test/unit_test.hpp>

namespace tickertape::kernels::text {
namespace {

struct Fixture {
  SpecialTokens tokens;
  Fixture() {
    tokens.add("<a>", 1, true);
    tokens.add("<a><b>", 2, true);
    tokens.add("<a>!", 3, false);
    tokens.add("<a>", 4, false);
    tokens.add("", 5, false);
  }
  [[nodiscard]] TokenId id(std::string_view text, std::size_t at, std::size_t end) const {
    return tokens.match(text, at, end).id;
  }
};

BOOST_FIXTURE_TEST_SUITE(special_tokens, Fixture)

BOOST_AUTO_TEST_CASE(the_longest_wins_and_the_first_of_equals) {
  BOOST_TEST(id("<a>x", 0, 4) == 1);
  BOOST_TEST(id("<a><b>", 0, 6) == 2);
  BOOST_TEST(tokens.match("<a><b>", 0, 6).size == 6U);
  BOOST_TEST(id("<a><c>", 0, 6) == 1);
}

BOOST_AUTO_TEST_CASE(control_tokens_end_where_they_are_allowed) {
  BOOST_TEST(id("<a><b>", 0, 5) == 1);
  BOOST_TEST(id("<a><b>", 0, 2) == -1);
  BOOST_TEST(id("<a><b>", 0, 0) == -1);
}

BOOST_AUTO_TEST_CASE(user_defined_tokens_are_found_everywhere) {
  BOOST_TEST(id("<a>!", 0, 0) == 3);
}

BOOST_AUTO_TEST_CASE(nothing_matches_elsewhere) {
  BOOST_TEST(id("<a", 0, 2) == -1);
  BOOST_TEST(id("x<a>", 0, 4) == -1);
  BOOST_TEST(id("x<a>", 1, 4) == 1);
  BOOST_TEST(SpecialTokens().match("<a>", 0, 3).id == -1);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace tickertape::kernels::text
