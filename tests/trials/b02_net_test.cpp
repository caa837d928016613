// B02: one client's disconnect leaves the rest of the batch alone.
#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "tests/support/test_server.hpp"
#include "tests/support/ws_client.hpp"

namespace tickertape::test {
namespace {

constexpr int kStreams = 4;
constexpr int kTokens = 60;

std::vector<int> prompt_of(int number) {
  return std::vector<int>(20 + number, 3 + number);
}

BOOST_AUTO_TEST_CASE(b02_the_others_tokens_stay_the_same) {
  SamplingParams greedy;
  greedy.temperature = 0;
  greedy.ignore_eos = true;
  std::vector<std::vector<int>> expected;
  for (int i = 0; i < kStreams; ++i) {
    expected.push_back(
        paged_fake_expected(prompt_of(i), greedy, 0, 0, kTokens, PagedFakeOptions()));
  }
  PagedFakeOptions fake;
  fake.probe = std::make_shared<PagedFakeProbe>();
  TestServer server(make_paged_fake_model(fake));
  for (int round = 0; round < 50; ++round) {
    std::vector<WsClient> clients;
    for (int i = 0; i < kStreams; ++i) {
      clients.emplace_back(server.port());
      clients.back().until("hello");
    }
    for (int i = 0; i < kStreams; ++i) {
      clients[static_cast<std::size_t>(i)].send({{"type", "submit"},
                                                 {"id", "s"},
                                                 {"prompt_ids", prompt_of(i)},
                                                 {"temperature", 0},
                                                 {"ignore_eos", true},
                                                 {"max_tokens", kTokens}});
    }
    clients[2].until("token");
    clients[2].socket().reset();
    // The second goes somewhere around its tenth token.
    for (int i = 0; i < 7 + round % 7; ++i) clients[1].until("token");
    clients[1].socket().reset();
    for (const std::size_t i : {std::size_t{0}, std::size_t{3}}) {
      const Answer answer = read_answer(clients[i], "s");
      BOOST_TEST(answer.trouble == "");
      BOOST_TEST(answer.tokens == expected[i], boost::test_tools::per_element());
    }
  }
  server.wait_idle();
  BOOST_TEST(fake.probe->violations() == 0U, fake.probe->first_violation());
}

}  // namespace
}  // namespace tickertape::test
