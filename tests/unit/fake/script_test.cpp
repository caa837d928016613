// parse_script: what is read, and which field is at fault.
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>

#include <tickertape/errors.hpp>
#include <tickertape/model.hpp>
#include <tickertape/scripted.hpp>

using namespace tickertape;

namespace {

void check_refused(const std::string& json, const std::string& field) {
  BOOST_TEST_CONTEXT(json) {
    BOOST_CHECK_EXCEPTION(static_cast<void>(parse_script(json)), Error, [&](const Error& error) {
      BOOST_TEST(error.info().param == field);
      BOOST_TEST((error.info().code == Errc::invalid_request));
      return error.info().param == field;
    });
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(script)

BOOST_AUTO_TEST_CASE(every_field_is_read) {
  const Script script = parse_script(R"({
    "pieces": [{"hex": "F0 9f"}, {"text": "abc"}],
    "tick_ms": 10, "prefill_ms_per_token": 0.25, "max_model_len": 100,
    "rules": [
      {"match": "x", "choice": 1, "tokens": [1, 2], "repeat": true, "end": false, "nan_at": 3,
       "fault_at": 4, "block_at": 5, "logprobs": [-1, -0.5]},
      {"pieces": [1, 0]}, {"text": "hi"}],
    "default": {"text": "bye"}})");
  BOOST_TEST(script.pieces == (std::vector<std::string>{"\xF0\x9F", "abc"}));
  BOOST_TEST(script.tick_ms == 10);
  BOOST_TEST(script.prefill_ms_per_token == 0.25);
  BOOST_TEST(script.max_model_len == 100U);
  BOOST_REQUIRE(script.rules.size() == 3U);
  const ScriptRule& first = script.rules[0];
  BOOST_TEST(first.match == "x");
  BOOST_TEST(first.choice.value() == 1U);
  BOOST_TEST(first.tokens == (std::vector<TokenId>{1, 2}));
  BOOST_TEST(first.repeat);
  BOOST_TEST(!first.end);
  BOOST_TEST(first.nan_at.value() == 3U);
  BOOST_TEST(first.fault_at.value() == 4U);
  BOOST_TEST(first.block_at.value() == 5U);
  BOOST_TEST(first.logprobs == (std::vector<float>{-1, -0.5F}));
  BOOST_TEST(script.rules[1].pieces == (std::vector<std::uint32_t>{1, 0}));
  BOOST_TEST(script.rules[2].text == "hi");
  BOOST_TEST(script.fallback.text == "bye");
}

BOOST_AUTO_TEST_CASE(defaults_are_those_of_the_struct) {
  const Script script = parse_script(R"({"rules": [{}]})");
  BOOST_TEST(script.tick_ms == 0);
  BOOST_TEST(script.max_model_len == 0U);
  BOOST_TEST(script.rules[0].end);
  BOOST_TEST(!script.rules[0].repeat);
  BOOST_TEST(!script.rules[0].nan_at.has_value());
  BOOST_TEST(parse_script("{}").rules.empty());
}

BOOST_AUTO_TEST_CASE(the_field_at_fault_is_named) {
  check_refused("", "script");
  check_refused("{", "script");
  check_refused("[]", "script");
  check_refused(R"({"tick": 1})", "tick");
  check_refused(R"({"tick_ms": "1"})", "tick_ms");
  check_refused(R"({"tick_ms": -1})", "tick_ms");
  check_refused(R"({"tick_ms": 1e10})", "tick_ms");
  check_refused(R"({"prefill_ms_per_token": null})", "prefill_ms_per_token");
  check_refused(R"({"max_model_len": 1.5})", "max_model_len");
  check_refused(R"({"max_model_len": 2147483648})", "max_model_len");
  check_refused(R"({"pieces": {}})", "pieces");
  check_refused(R"({"pieces": ["a"]})", "pieces[0]");
  check_refused(R"({"pieces": [{"text": "a"}, {}]})", "pieces[1]");
  check_refused(R"({"pieces": [{"text": "a", "hex": "41"}]})", "pieces[0]");
  check_refused(R"({"pieces": [{"text": ""}]})", "pieces[0]");
  check_refused(R"({"pieces": [{"hex": "F"}]})", "pieces[0].hex");
  check_refused(R"({"pieces": [{"hex": "F 0"}]})", "pieces[0].hex");
  check_refused(R"({"pieces": [{"hex": "xy"}]})", "pieces[0].hex");
  check_refused(R"({"pieces": [{"byte": 1}]})", "pieces[0].byte");
  check_refused(R"({"rules": [{}, {"tokens": [1, -1]}]})", "rules[1].tokens[1]");
  check_refused(R"({"rules": [{"pieces": [true]}]})", "rules[0].pieces[0]");
  check_refused(R"({"rules": [{"text": "a", "tokens": [1]}]})", "rules[0]");
  check_refused(R"({"rules": [{"repeat": 1}]})", "rules[0].repeat");
  check_refused(R"({"rules": [{"match": 1}]})", "rules[0].match");
  check_refused(R"({"rules": [{"nan_at": -1}]})", "rules[0].nan_at");
  check_refused(R"({"rules": [{"logprobs": [0.5]}]})", "rules[0].logprobs[0]");
  check_refused(R"({"rules": [{"logprobs": [-10000]}]})", "rules[0].logprobs[0]");
  check_refused(R"({"rules": [{"stop": 1}]})", "rules[0].stop");
  check_refused(R"({"default": 1})", "default");
}

BOOST_AUTO_TEST_CASE(a_script_is_loaded_from_a_file) {
  const auto path = std::filesystem::temp_directory_path() /
                    ("tickertape_script_test_" +
                     std::to_string(std::hash<std::string>{}(TICKERTAPE_TEST_DATA)) + ".json");
  std::ofstream(path) << R"({"default": {"text": "from a file"}})";
  const Script script = load_script(path);
  std::filesystem::remove(path);
  BOOST_TEST(script.fallback.text == "from a file");
  BOOST_CHECK_THROW(static_cast<void>(load_script(path)), Error);
}

BOOST_AUTO_TEST_CASE(tokens_and_pieces_that_do_not_exist_are_refused) {
  const auto check = [](Script script, const std::string& field) {
    BOOST_CHECK_EXCEPTION(static_cast<void>(make_scripted_model(std::move(script))), Error,
                          [&](const Error& error) { return error.info().param == field; });
  };
  check(parse_script(R"({"rules": [{"tokens": [258]}]})"), "rules[0].tokens");
  check(parse_script(R"({"pieces": [{"text": "a"}], "default": {"pieces": [1]}})"),
        "default.pieces");
  BOOST_CHECK_NO_THROW(
      static_cast<void>(make_scripted_model(parse_script(R"({"pieces": [{"text": "a"}],
                                           "default": {"tokens": [258]}})"))));
}

BOOST_AUTO_TEST_SUITE_END()
