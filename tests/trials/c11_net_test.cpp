// C11: length means that it was cut, stop that it was not; both at one token mean stop.
#include <boost/test/unit_test.hpp>
#include <string>

#include "tests/support/test_server.hpp"
#include "tests/support/ws_client.hpp"

namespace tickertape::test {
namespace {

struct Fixture {
  Fixture() : server(make_scripted_model(script())), client(server.port()) {
    client.until("hello");
  }
  static Script script() {
    Script script;
    script.rules.resize(1);
    script.rules[0].match = "endless";
    script.rules[0].text = "x";
    script.rules[0].repeat = true;
    script.fallback.text = "Hello";
    return script;
  }

  /// "TEXT REASON COUNT" of a generation.
  std::string ask(const Json& members) {
    Json submit = {{"type", "submit"}, {"id", "a"}, {"prompt", "hi"}};
    submit.update(members);
    client.send(submit);
    const Answer answer = read_answer(client, "a");
    BOOST_TEST(answer.trouble == "");
    if (answer.done.is_null()) return answer.frames.back().dump();
    return answer.text + " " + answer.done["finish_reason"].get<std::string>() + " " +
           answer.done["usage"]["completion_tokens"].dump();
  }

  TestServer server;
  WsClient client;
};

BOOST_FIXTURE_TEST_SUITE(c11, Fixture)

// The end token is the sixth, and is counted.
BOOST_AUTO_TEST_CASE(c11_the_end_token_at_the_limit) {
  BOOST_TEST(ask({{"max_tokens", 5}}) == "Hello length 5");
  BOOST_TEST(ask({{"max_tokens", 6}}) == "Hello stop 6");
  BOOST_TEST(ask({{"max_tokens", 7}}) == "Hello stop 6");
  BOOST_TEST(ask({{"max_tokens", 4}}) == "Hell length 4");
}

BOOST_AUTO_TEST_CASE(c11_a_stop_string_at_the_limit) {
  BOOST_TEST(ask({{"max_tokens", 5}, {"stop", "lo"}}) == "Hel stop 5");
  BOOST_TEST(ask({{"max_tokens", 4}, {"stop", "lo"}}) == "Hell length 4");
  BOOST_TEST(ask({{"max_tokens", 6}, {"stop", "lo"}}) == "Hel stop 5");
}

BOOST_AUTO_TEST_CASE(c11_a_stop_token_at_the_limit) {
  BOOST_TEST(ask({{"max_tokens", 3}, {"stop_token_ids", {'l'}}}).ends_with(" stop 3"));
  BOOST_TEST(ask({{"max_tokens", 2}, {"stop_token_ids", {'l'}}}) == "He length 2");
}

BOOST_AUTO_TEST_CASE(c11_the_end_of_the_context) {
  constexpr std::size_t kContext = 384;  // All of the tiny pool.
  client.send({{"type", "submit"},
               {"id", "a"},
               {"prompt", "endless" + std::string(370, '.')},
               {"max_tokens", 100}});
  const Answer answer = read_answer(client, "a");
  BOOST_TEST(answer.done["finish_reason"] == "length");
  BOOST_TEST(answer.tokens.size() ==
             kContext - answer.accepted["prompt_tokens"].get<std::size_t>());
  BOOST_TEST(answer.tokens.size() < 10U);
}

BOOST_AUTO_TEST_CASE(c11_what_was_broken_off_is_neither) {
  client.send(
      {{"type", "submit"}, {"id", "b"}, {"prompt", "endless"}, {"window", 2}, {"max_tokens", 300}});
  client.until("token", "b");
  client.send({{"type", "cancel"}, {"id", "b"}});
  BOOST_TEST(client.until("done", "b")["finish_reason"] == "cancelled");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace tickertape::test
