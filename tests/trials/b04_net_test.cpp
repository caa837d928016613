// B04: characters that are split over tokens arrive whole, or not at all.
#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "tests/support/test_server.hpp"
#include "tests/support/ws_client.hpp"

namespace tickertape::test {
namespace {

const std::string kReplacement = "\xEF\xBF\xBD";

/// What a client receives as text when the model says `pieces`, at most `max_tokens` of them.
/// Json::parse refuses invalid UTF-8, so that every frame is valid is checked on the way.
std::string streamed(const std::vector<std::string>& pieces, int max_tokens) {
  Script script;
  script.pieces = pieces;
  for (std::uint32_t i = 0; i < pieces.size(); ++i) script.fallback.pieces.push_back(i);
  TestServer server(make_scripted_model(script));
  WsClient client(server.port());
  client.until("hello");
  client.send({{"type", "submit"}, {"id", "a"}, {"prompt", "x"}, {"max_tokens", max_tokens}});
  const Answer answer = read_answer(client, "a");
  BOOST_TEST(answer.trouble == "");
  BOOST_TEST(answer.tokens.size() <= static_cast<std::size_t>(max_tokens));
  return answer.text;
}

BOOST_AUTO_TEST_SUITE(b04)

BOOST_AUTO_TEST_CASE(b04_every_split_of_an_emoji) {
  const std::string emoji = "\xF0\x9F\x98\x8A";
  for (unsigned cuts = 0; cuts < 8; ++cuts) {
    std::vector<std::string> pieces(1);
    for (std::size_t i = 0; i < emoji.size(); ++i) {
      pieces.back() += emoji[i];
      if ((cuts >> i & 1U) != 0 && i + 1 < emoji.size()) pieces.emplace_back();
    }
    pieces.emplace_back("!");
    const int count = static_cast<int>(pieces.size());
    BOOST_TEST(streamed(pieces, count) == emoji + "!");
    BOOST_TEST(streamed(pieces, count - 1) == emoji);
    // Cut inside of the character: its beginning is dropped.
    if (count > 2) BOOST_TEST(streamed(pieces, count - 2) == "");
  }
}

BOOST_AUTO_TEST_CASE(b04_a_sweep_over_the_limit) {
  const std::vector<std::string> pieces = {"\xF0\x9F", "\x98\x8A", "!", "\xE4\xBD",
                                           "\xA0",     "\x80",     "A"};
  const std::string smile = "\xF0\x9F\x98\x8A";
  const std::string you = "\xE4\xBD\xA0";
  const std::vector<std::string> expected = {"",
                                             smile,
                                             smile + "!",
                                             smile + "!",
                                             smile + "!" + you,
                                             smile + "!" + you + kReplacement,
                                             smile + "!" + you + kReplacement + "A"};
  for (std::size_t limit = 1; limit <= expected.size(); ++limit) {
    BOOST_TEST(streamed(pieces, static_cast<int>(limit)) == expected[limit - 1], "limit " << limit);
  }
}

BOOST_AUTO_TEST_CASE(b04_an_unfinished_tail_is_dropped) {
  BOOST_TEST(streamed({"ok", "\xF0\x9F\x98"}, 10) == "ok");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace tickertape::test
