// JsonParser and JSON text: what is refused, and that what is written is always valid.
#include <boost/test/unit_test.hpp>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include <tickertape/batch.hpp>

#include "net/json_document.hpp"
#include "net/json_object.hpp"
#include "net/json_text.hpp"

namespace tickertape::net {
namespace {

bool parses(const std::string& text, std::size_t limit = 1U << 20) {
  JsonParser parser(limit);
  std::string why;
  const bool fine = parser.parse(text, why).has_value();
  BOOST_TEST(fine == why.empty(), text.substr(0, 60));
  return fine;
}

std::string nested(std::size_t depth) {
  return std::string(depth, '[') + std::string(depth, ']');
}

BOOST_AUTO_TEST_SUITE(json)

BOOST_AUTO_TEST_CASE(duplicate_keys_are_refused_at_any_depth) {
  BOOST_TEST(parses(R"({"a":1,"b":{"a":1},"c":[{"a":1},{"a":2}]})"));
  BOOST_TEST(!parses(R"({"a":1,"a":1})"));
  BOOST_TEST(!parses(R"({"model":1,"\u006dodel":2})"));
  BOOST_TEST(!parses(R"({"x":{"a":1,"b":2,"a":3}})"));
  BOOST_TEST(!parses(R"([1,[{"y":[{"a":1,"a":2}]}]])"));
}

BOOST_AUTO_TEST_CASE(depth_is_limited) {
  BOOST_TEST(parses(nested(JsonParser::kMaxDepth - 1)));
  BOOST_TEST(!parses(nested(JsonParser::kMaxDepth + 1)));
  BOOST_TEST(!parses(nested(100'000)));
}

BOOST_AUTO_TEST_CASE(bad_utf8_and_lone_surrogates_are_refused) {
  for (const char* bytes :
       {"\xC3\x28", "\xED\xA0\x80", "\xF5\x80\x80\x80", "\xC0\xAF", "\xE2\x82"}) {
    BOOST_TEST(!parses("{\"a\":\"" + std::string(bytes) + "\"}"));
  }
  BOOST_TEST(!parses(R"({"a":"\ud800"})"));
  BOOST_TEST(!parses(R"({"a":"\udc00\ud800"})"));
  BOOST_TEST(parses(R"({"a":"\ud83d\ude0a"})"));
}

BOOST_AUTO_TEST_CASE(numbers_follow_the_grammar) {
  for (const char* number : {"0", "-0", "10", "10.0", "1e1", "1E+2", "18446744073709551615"}) {
    BOOST_TEST(parses("{\"a\":" + std::string(number) + "}"), number);
  }
  for (const char* number : {"1e400", "1e999", "-1e999", "007", "+1", ".5", "1.", "NaN", "Infinity",
                             "0x10", "1_000", "18446744073709551616"}) {
    BOOST_TEST(!parses("{\"a\":" + std::string(number) + "}"), number);
  }
}

BOOST_AUTO_TEST_CASE(length_is_limited) {
  const std::string text = "[\"" + std::string(5000, 'x') + "\"]";
  BOOST_TEST(parses(text, 8192));
  BOOST_TEST(!parses(text, 1024));
}

BOOST_AUTO_TEST_CASE(a_parser_goes_on_after_an_error) {
  JsonParser parser(1U << 20);
  std::string why;
  BOOST_TEST(!parser.parse(nested(1000), why).has_value());
  BOOST_TEST(parser.parse("{\"a\":1}", why).has_value());
  BOOST_TEST(!parser.parse(nested(1000), why).has_value());
}

BOOST_AUTO_TEST_CASE(every_string_is_written_as_valid_json) {
  std::string all;
  for (int c = 1; c < 128; ++c) all += static_cast<char>(c);
  all += '\0';
  all += "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x8A";
  BOOST_TEST(nlohmann::json::parse(json_string(all)).get<std::string>() == all);
  const std::string broken = "a\xFFz\xC3";
  const std::string replaced = nlohmann::json::parse(json_string(broken));
  BOOST_TEST(replaced == "a\xEF\xBF\xBDz\xEF\xBF\xBD");
}

BOOST_AUTO_TEST_CASE(logprobs_are_always_numbers) {
  const auto written = [](float value) {
    std::string out;
    append_json_logprob(out, value);
    return nlohmann::json::parse(out).get<float>();
  };
  BOOST_TEST(written(-0.125F) == -0.125F);
  BOOST_TEST(written(-1.0F / 3) == -1.0F / 3);
  BOOST_TEST(written(1e-20F) == 1e-20F);
  BOOST_TEST(written(-std::numeric_limits<float>::infinity()) == kLogprobFloor);
  BOOST_TEST(written(std::numeric_limits<float>::quiet_NaN()) == kLogprobFloor);
}

BOOST_AUTO_TEST_CASE(objects_keep_their_order_and_are_always_valid) {
  BOOST_TEST(JsonObject().text() == "{}");
  BOOST_TEST(JsonObject().members() == "");
  JsonObject inner;
  inner.add("huge", std::numeric_limits<std::uint64_t>::max());
  inner.add("nan", std::numeric_limits<double>::quiet_NaN());
  JsonObject outer;
  outer.add("text", "a\"b\n\xff").add("half", 0.5).add("least", std::int64_t{-5});
  outer.add("yes", true).add_or_null("none", "").add_json("list", "[1]").add("inner", inner);
  BOOST_TEST(outer.text() ==
             "{\"text\":\"a\\\"b\\n\uFFFD\",\"half\":0.5,\"least\":-5,\"yes\":true,\"none\":null,"
             "\"list\":[1],\"inner\":{\"huge\":18446744073709551615,\"nan\":null}}");
  BOOST_TEST(nlohmann::json::parse(outer.text())["inner"]["nan"].is_null());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace tickertape::net
