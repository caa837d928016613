// C10: each token has one log-probability entry, and the entries' bytes are the text.
#include <boost/test/unit_test.hpp>
#include <map>
#include <string>
#include <vector>

#include "tests/support/real_model.hpp"
#include "tests/support/test_server.hpp"
#include "tests/support/ws_client.hpp"

namespace tickertape::test {
namespace {

/// What one choice gave.
struct Choice {
  std::string text;
  std::string bytes;
  int entries = 0;
  std::string finish_reason;
  Json stop_reason;
};

/// Reads all choices of "a" to the end.
std::map<int, Choice> read_choices(WsClient& client) {
  std::map<int, Choice> choices;
  for (;;) {
    const Json message = client.next();
    if (message["type"] == "accepted") continue;
    BOOST_REQUIRE(message["type"] != "error");
    Choice& choice = choices[message["index"]];
    BOOST_TEST(choice.finish_reason == "", "a frame after done");
    if (message["type"] == "done") {
      choice.finish_reason = message["finish_reason"];
      if (message.contains("stop_reason")) choice.stop_reason = message["stop_reason"];
      if (message.contains("final")) return choices;
      continue;
    }
    choice.text += message["text"];
    BOOST_TEST(message["seq"] == choice.entries);
    ++choice.entries;
    for (const int byte : message["bytes"]) choice.bytes += static_cast<char>(byte);
    if (message["top_logprobs"].empty()) continue;
    const Json& best = message["top_logprobs"][0];
    BOOST_TEST(best["bytes"].is_array());
    BOOST_TEST(best["logprob"] >= message["logprob"]);
  }
}

struct Fixture {
  std::map<int, Choice> ask(TestServer& server, const Json& members) {
    WsClient client(server.port());
    client.until("hello");
    Json submit = {{"type", "submit"}, {"id", "a"}, {"prompt", "x"}, {"logprobs", true}};
    submit.update(members);
    client.send(submit);
    return read_choices(client);
  }
};

Script pieces_of(const std::vector<std::string>& pieces) {
  Script script;
  script.pieces = pieces;
  for (std::uint32_t i = 0; i < pieces.size(); ++i) script.fallback.pieces.push_back(i);
  return script;
}

BOOST_FIXTURE_TEST_SUITE(c10, Fixture)

BOOST_AUTO_TEST_CASE(c10_characters_of_several_tokens) {
  TestServer server(
      make_scripted_model(pieces_of({"a\xF0", "\x9F", "\x98", "\x8A!", "\xE4\xBD", "\xA0", "z"})));
  const Choice choice = ask(server, Json::object())[0];
  BOOST_TEST(choice.text == "a\xF0\x9F\x98\x8A!\xE4\xBD\xA0z");
  BOOST_TEST(choice.bytes == choice.text);
  BOOST_TEST(choice.entries == 8);  // The end token has an entry without bytes.
  BOOST_TEST(choice.finish_reason == "stop");
}

BOOST_AUTO_TEST_CASE(c10_a_stop_string_in_the_middle_of_a_token) {
  TestServer server(make_scripted_model(pieces_of({"One", " tw", "o th", "ree"})));
  const Choice cut = ask(server, {{"stop", {"two"}}})[0];
  BOOST_TEST(cut.text == "One ");
  BOOST_TEST(cut.bytes == "One two th");  // The whole token that completed the stop string.
  BOOST_TEST(cut.entries == 3);
  BOOST_TEST(cut.finish_reason == "stop");
  BOOST_TEST(cut.stop_reason == "two");
  const Choice kept = ask(server, {{"stop", "two"}, {"include_stop_str_in_output", true}})[0];
  BOOST_TEST(kept.text == "One two");
  const Choice never = ask(server, {{"stop", "four"}})[0];
  BOOST_TEST(never.text == "One two three");
  BOOST_TEST(never.bytes == never.text);
}

BOOST_AUTO_TEST_CASE(c10_choices_have_their_own) {
  Script script;
  script.rules.resize(2);
  script.rules[0].choice = 0;
  script.rules[0].text = "short";
  script.rules[1].choice = 1;
  script.rules[1].text = "a longer text";
  TestServer server(make_scripted_model(script));
  auto choices = ask(server, {{"n", 2}});
  BOOST_TEST(choices.size() == 2U);
  BOOST_TEST(choices[0].text == "short");
  BOOST_TEST(choices[1].text == "a longer text");
  for (auto& [index, choice] : choices) {
    BOOST_TEST(choice.bytes == choice.text);
    BOOST_TEST(choice.entries == static_cast<int>(choice.text.size()) + 1);
    BOOST_TEST(choice.finish_reason == "stop");
  }
}

// Greedy: the chosen token is the first of the alternatives.
BOOST_AUTO_TEST_CASE(c10_on_the_real_model) {
  TestServer server(real_model(), small_pool());
  const Json members = {{"prompt",
                         "Emoji: \xF0\x9F\x98\x8A\xF0\x9F\x98\x8A and \xE4\xBD\xA0\xE5\xA5\xBD. "
                         "Again: \xF0\x9F\x98\x8A"},
                        {"temperature", 0},
                        {"max_tokens", 12},
                        {"ignore_eos", true},
                        {"top_logprobs", 2}};
  const Choice choice = ask(server, members)[0];
  BOOST_TEST(choice.entries == 12);
  BOOST_TEST(choice.bytes.starts_with(choice.text));  // A tail may be an unfinished character.
  BOOST_TEST(choice.bytes.size() - choice.text.size() < 4U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace tickertape::test
