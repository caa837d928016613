// StopMatcher: against a search in the whole text.
#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "actors/stop_matcher.hpp"

namespace {

using tickertape::actors::StopMatcher;
using tickertape::actors::StopStrings;

StopMatcher matcher(std::vector<std::string> stops) {
  return StopMatcher(std::make_shared<const StopStrings>(std::move(stops)));
}

BOOST_AUTO_TEST_CASE(text_is_held_back_only_while_a_stop_string_may_begin) {
  StopMatcher one = matcher({"abc"});
  BOOST_TEST(one.push("xa", false) == "x");
  BOOST_TEST(one.push("b", false) == "");
  BOOST_TEST(one.push("a", false) == "ab");
  BOOST_TEST(one.flush() == "a");
  BOOST_TEST(one.flush() == "");
  BOOST_TEST(one.stopped_by() == nullptr);
}

BOOST_AUTO_TEST_CASE(a_failed_beginning_may_hold_another_beginning) {
  StopMatcher one = matcher({"aab"});
  BOOST_TEST(one.push("aa", false) == "");
  BOOST_TEST(one.push("a", false) == "a");
  BOOST_TEST(one.push("b", false) == "");
  BOOST_REQUIRE(one.stopped_by() != nullptr);
  BOOST_TEST(*one.stopped_by() == "aab");
}

BOOST_AUTO_TEST_CASE(of_several_the_first_to_end_counts_and_the_longest_of_those) {
  StopMatcher one = matcher({"b", "ab", "abc"});
  BOOST_TEST(one.push("xabc", false) == "x");
  BOOST_TEST(*one.stopped_by() == "ab");
  StopMatcher two = matcher({"b", "ab"});
  BOOST_TEST(two.push("xabc", true) == "xab");
}

/// Where the first stop string ends, and which it is.
struct Found {
  std::size_t end = 0;
  std::string stop;
};

std::optional<Found> search(const std::string& text, const std::vector<std::string>& stops) {
  for (std::size_t end = 1; end <= text.size(); ++end) {
    std::optional<Found> found;
    for (const std::string& stop : stops) {
      if (!text.substr(0, end).ends_with(stop)) continue;
      if (!found || stop.size() > found->stop.size()) found = Found{end, stop};
    }
    if (found) return found;
  }
  return std::nullopt;
}

BOOST_AUTO_TEST_CASE(random_texts_in_random_pieces_agree_with_a_plain_search) {
  std::mt19937 random(7);
  const auto draw = [&](std::size_t most) { return static_cast<std::size_t>(random() % most); };
  const auto draw_text = [&](std::size_t size) {
    std::string text;
    while (text.size() < size) text += static_cast<char>('a' + draw(3));
    return text;
  };
  std::size_t num_found = 0;
  for (int round = 0; round < 3000; ++round) {
    std::vector<std::string> stops;
    for (std::size_t i = 0; i < 1 + draw(4); ++i) stops.push_back(draw_text(1 + draw(6)));
    const std::string text = draw_text(draw(40));
    const bool include_stop = draw(2) == 0;
    StopMatcher one = matcher(stops);
    std::string shown;
    for (std::size_t place = 0; place < text.size() && one.stopped_by() == nullptr;) {
      const std::size_t size = std::min(1 + draw(5), text.size() - place);
      shown += one.push(text.substr(place, size), include_stop);
      place += size;
    }
    const auto found = search(text, stops);
    BOOST_REQUIRE(found.has_value() == (one.stopped_by() != nullptr));
    std::string expected = text;
    if (found) {
      ++num_found;
      BOOST_REQUIRE(*one.stopped_by() == found->stop);
      expected = text.substr(0, include_stop ? found->end : found->end - found->stop.size());
    } else {
      shown += one.flush();
    }
    BOOST_REQUIRE(shown == expected);
  }
  BOOST_TEST(num_found > 1000U);
  BOOST_TEST(num_found < 3000U);
}

}  // namespace
