// Jinja: what templates of every part of the language render, as the reference does.
#include <boost/test/unit_test.hpp>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/jinja.hpp"

namespace tickertape {
namespace {

using test::rendered;

BOOST_AUTO_TEST_SUITE(jinja_expressions)

// tests/data/jinja-expressions.json holds them with the texts that jinja2 gave; e2e_templates
// compares the file with jinja2 itself.
BOOST_AUTO_TEST_CASE(every_golden_template_renders_as_the_reference) {
  const nlohmann::ordered_json golden =
      nlohmann::ordered_json::parse(std::ifstream(TICKERTAPE_TEST_DATA "/jinja-expressions.json"));
  const std::string variables = golden.at("variables").dump();
  std::size_t count = 0;
  for (const auto& [group, entries] : golden.at("groups").items()) {
    for (const auto& entry : entries) {
      const std::string source = entry.at("template");
      BOOST_TEST_CONTEXT(group << ": " << source) {
        BOOST_TEST(rendered(source, variables) == entry.at("text").get<std::string>());
      }
      ++count;
    }
  }
  BOOST_TEST(count >= 200U);
}

BOOST_AUTO_TEST_CASE(long_chains_need_no_stack) {
  std::string sum = "{{ 0";
  std::string filters = "{{ 'a'";
  std::string tests = "{{ 1";
  for (int i = 0; i < 20'000; ++i) {
    sum += " + 1";
    filters += "|trim";
    tests += " or x";
  }
  BOOST_TEST(rendered(sum + " }}") == "20000");
  BOOST_TEST(rendered(filters + " }}") == "a");
  BOOST_TEST(rendered(tests + " }}") == "1");
}

BOOST_AUTO_TEST_CASE(bytes_that_are_no_characters_stay_as_they_are) {
  BOOST_TEST(rendered("{{ 'a\xff\xc3' }}{{ '\xf0\x9f'|length }}{{ '\xff'|upper }}") ==
             "a\xff\xc3"
             "2\xff");
}

BOOST_AUTO_TEST_CASE(strftime_now_asks_the_clock) {
  BOOST_TEST(rendered("{{ strftime_now('%Y-%m-%d') }}").starts_with("19"));
  test::has(test::fault("{{ strftime_now(5) }}"), "needs a string");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace tickertape
