// A16: a context that fills up ends its own generation as `length`.
#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "tests/support/test_server.hpp"
#include "tests/support/ws_client.hpp"

namespace tickertape::test {
namespace {

constexpr int kContext = 384;  ///< All of the tiny pool.

std::vector<int> ids(int count) {
  std::vector<int> out;
  for (int i = 0; i < count; ++i) out.push_back(2 + i % 900);
  return out;
}

BOOST_AUTO_TEST_CASE(a16_generation_ends_where_the_context_ends) {
  TestServer server(make_paged_fake_model());
  WsClient client(server.port());
  client.until("hello");
  WsClient neighbour(server.port());
  neighbour.until("hello");
  client.send({{"type", "submit"},
               {"id", "a"},
               {"prompt_ids", ids(20)},
               {"ignore_eos", true},
               {"max_tokens", 2147483647}});
  neighbour.send({{"type", "submit"},
                  {"id", "n"},
                  {"prompt_ids", ids(10)},
                  {"temperature", 0},
                  {"ignore_eos", true},
                  {"max_tokens", 100}});
  const Answer answer = read_answer(client, "a");
  BOOST_TEST(answer.trouble == "");
  BOOST_TEST(answer.accepted["max_tokens"] == kContext - 20);
  BOOST_TEST(answer.tokens.size() == static_cast<std::size_t>(kContext - 20));
  BOOST_TEST(answer.done["finish_reason"] == "length");

  SamplingParams greedy;
  greedy.temperature = 0;
  greedy.ignore_eos = true;
  const std::vector<int> expected =
      paged_fake_expected(ids(10), greedy, 0, 0, 100, PagedFakeOptions());
  BOOST_TEST(read_answer(neighbour, "n").tokens == expected, boost::test_tools::per_element());
  server.wait_idle();
}

BOOST_AUTO_TEST_CASE(a16_prompts_at_the_limit) {
  TestServer server(make_paged_fake_model());
  WsClient client(server.port());
  client.until("hello");
  const auto submit = [&](int count) {
    client.send({{"type", "submit"}, {"id", "a"}, {"prompt_ids", ids(count)}});
    return read_answer(client, "a");
  };
  const Answer last = submit(kContext - 1);
  BOOST_TEST(last.tokens.size() == 1U);
  for (const int count : {kContext, kContext + 1}) {
    const Json error = submit(count).frames.back();
    BOOST_TEST(error["type"] == "error");
    BOOST_TEST(error["status"] == 400);
  }
  server.wait_idle();
}

}  // namespace
}  // namespace tickertape::test
