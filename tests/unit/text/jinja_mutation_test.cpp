// Jinja: damaged templates are refused or rendered, and never end the process.
#include <boost/test/unit_test.hpp>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "tests/support/jinja.hpp"

namespace tickertape {
namespace {

constexpr const char* kVariables =
    R"({"messages": [{"role": "user", "content": "a\nb", "tool_calls": [{"function": {"name": "f"}}]},
        {"role": "assistant", "content": "c <|x|> é"}], "n": 7, "l": [3, 1, 2], "d": {"a": 1},
        "s": "Hello", "users": [{"name": "Bob", "age": 3}]})";

/// One change: a part taken out, doubled, moved, or a piece of the language put in.
void mutate(std::string& text, std::mt19937& random) {
  constexpr const char* kPieces[] = {"{{",          "}}",
                                     "{%",          "%}",
                                     "-",           "{#",
                                     "#}",          "(",
                                     ")",           "[",
                                     "]",           "{",
                                     "}",           "|",
                                     ".",           ",",
                                     ":",           "'",
                                     "\"",          "\\",
                                     "~",           "*",
                                     "**",          "//",
                                     "==",          " in ",
                                     " is ",        " not ",
                                     " if ",        " else ",
                                     "endif",       "for x in l",
                                     "set ns.x = ", "none",
                                     "loop.index",  "1e308",
                                     "-1",          "9223372036854775807",
                                     "|tojson",     "|join",
                                     "|sort",       "|slice(3)",
                                     "|batch(0)",   ".split()",
                                     "[::-1]",      "range(9)",
                                     "m(m)",        "\xff",
                                     "\xc3",        "é",
                                     "\n",          "%s",
                                     "{:>99}",      "|center(9)",
                                     "|indent",     "caller()"};
  const auto place = [&] { return random() % (text.size() + 1); };
  const std::size_t at = place();
  switch (random() % 4) {
    case 0:
      text.erase(at, random() % 8);
      break;
    case 1:
      text.insert(at, text.substr(place(), random() % 12));
      break;
    case 2:
      text.insert(at, kPieces[random() % std::size(kPieces)]);
      break;
    default:
      if (at < text.size()) text[at] = static_cast<char>(random() % 256);
  }
}

BOOST_AUTO_TEST_SUITE(jinja_mutation)

BOOST_AUTO_TEST_CASE(random_changes_are_refused_or_rendered) {
  const nlohmann::json golden =
      nlohmann::json::parse(std::ifstream(TICKERTAPE_TEST_DATA "/jinja-expressions.json"));
  std::vector<std::string> seeds;
  for (const auto& group : golden.at("groups")) {
    for (const auto& entry : group) seeds.push_back(entry.at("template"));
  }
  const kernels::text::jinja::Limits small{
      .steps = 20'000, .memory_bytes = 1 << 20, .output_bytes = 1 << 16};
  std::mt19937 random(11);
  int outcomes[2] = {};
  for (int round = 0; round < 6'000; ++round) {
    std::string source = seeds[random() % seeds.size()];
    for (std::uint32_t i = 1 + random() % 4; i > 0; --i) mutate(source, random);
    BOOST_TEST_CONTEXT(source) {
      try {
        std::size_t size = 0;
        for (const PromptSpan& span : test::rendered_spans(source, kVariables, small)) {
          BOOST_REQUIRE(!span.text.empty());
          size += span.text.size();
        }
        BOOST_REQUIRE(size <= small.output_bytes);
        ++outcomes[0];
      } catch (const Error& error) {
        BOOST_REQUIRE(error.info().code == Errc::invalid_request);
        BOOST_REQUIRE(!error.info().message.empty());
        ++outcomes[1];
      }
    }
  }
  BOOST_TEST(outcomes[0] > 500);
  BOOST_TEST(outcomes[1] > 500);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace tickertape
