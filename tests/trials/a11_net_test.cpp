// A11: the names that clients give are labels, however often and by whomever they are used.
#include <boost/test/unit_test.hpp>
#include <set>
#include <string>
#include <vector>

#include "tests/support/test_server.hpp"
#include "tests/support/ws_client.hpp"

namespace tickertape::test {
namespace {

constexpr std::string_view kSameName =
    "Sec-WebSocket-Protocol: tickertape.v1\r\nX-Request-Id: same\r\n";

Json submit_of(int number, int max_tokens) {
  return {{"type", "submit"},
          {"id", "same"},
          {"user", "same"},
          {"request_id", "same"},
          {"prompt_ids", {5 + number}},
          {"temperature", 0},
          {"ignore_eos", true},
          {"max_tokens", max_tokens}};
}

std::vector<int> expected_of(int number, std::uint32_t max_tokens) {
  SamplingParams params;
  params.temperature = 0;
  params.ignore_eos = true;
  const TokenId prompt[] = {5 + number};
  return paged_fake_expected(prompt, params, 0, 0, max_tokens, PagedFakeOptions());
}

BOOST_AUTO_TEST_SUITE(a11)

BOOST_AUTO_TEST_CASE(a11_two_at_once_with_one_name) {
  TestServer server(make_paged_fake_model(), large_pool());
  std::vector<WsClient> clients;
  for (int i = 0; i < 2; ++i) {
    clients.emplace_back(server.port(), 0, kSameName);
    clients.back().send(submit_of(i, 200));
  }
  std::set<Json> request_ids;
  for (int i = 0; i < 2; ++i) {
    WsClient& client = clients[static_cast<std::size_t>(i)];
    client.until("hello");
    const Answer answer = read_answer(client, "same");
    BOOST_TEST(answer.trouble == "");
    BOOST_TEST(answer.tokens == expected_of(i, 200), boost::test_tools::per_element());
    request_ids.insert(answer.accepted["request_id"]);
  }
  BOOST_TEST(request_ids.size() == 2U);
}

BOOST_AUTO_TEST_CASE(a11_a_name_is_used_again_right_after_its_connection_went) {
  TestServer server(make_paged_fake_model(), large_pool());
  for (int round = 0; round < 50; ++round) {
    {
      WsClient first(server.port(), 0, kSameName);
      first.send(submit_of(round, 10'000));
      if (round % 3 != 0) first.until("accepted");
      if (round % 2 == 0) first.socket().reset();
    }
    WsClient second(server.port(), 0, kSameName);
    second.send(submit_of(round, 20));
    second.until("hello");
    const Answer answer = read_answer(second, "same");
    BOOST_TEST(answer.trouble == "");
    BOOST_TEST(answer.tokens == expected_of(round, 20), boost::test_tools::per_element());
  }
  server.wait_connections(0);
  server.wait_idle();
}

// On one connection the name is free once the end was told; what comes late belongs to nobody.
BOOST_AUTO_TEST_CASE(a11_a_name_is_used_again_right_after_its_cancel) {
  TestServer server(make_paged_fake_model(), large_pool());
  WsClient client(server.port());
  client.until("hello");
  for (int round = 0; round < 50; ++round) {
    client.send(submit_of(round, 10'000));
    client.send({{"type", "cancel"}, {"id", "same"}});
    BOOST_TEST(client.until("done", "same")["finish_reason"] == "cancelled");
    client.send({{"type", "cancel"}, {"id", "same"}});
    client.send(submit_of(round, 20));
    const Answer answer = read_answer(client, "same");
    BOOST_TEST(answer.trouble == "");
    BOOST_TEST(answer.tokens == expected_of(round, 20), boost::test_tools::per_element());
  }
  server.wait_idle();
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace tickertape::test
