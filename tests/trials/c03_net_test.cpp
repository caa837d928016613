// C03: temperatures at and beyond the limits, beside a stream that must not notice.
#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "tests/support/test_server.hpp"
#include "tests/support/ws_client.hpp"

namespace tickertape::test {
namespace {

BOOST_AUTO_TEST_CASE(c03_temperatures_are_taken_or_refused_and_the_neighbour_is_unchanged) {
  SamplingParams greedy;
  greedy.temperature = 0;
  greedy.ignore_eos = true;
  const TokenId prompt[] = {4, 5, 6};
  const std::vector<int> expected =
      paged_fake_expected(prompt, greedy, 0, 0, 200, PagedFakeOptions());

  TestServer server(make_paged_fake_model());
  WsClient client(server.port());
  client.until("hello");
  WsClient neighbour(server.port());
  neighbour.until("hello");
  const auto check = [&](const std::string& value, bool fine) {
    neighbour.send({{"type", "submit"},
                    {"id", "n"},
                    {"prompt_ids", {4, 5, 6}},
                    {"temperature", 0},
                    {"ignore_eos", true},
                    {"max_tokens", 200}});
    client.send_text(R"({"type":"submit","id":"t","prompt":"x","max_tokens":8,"logprobs":true,)"
                     R"("temperature":)" +
                     value + "}");
    if (fine) {
      const Answer answer = read_answer(client, "t");
      BOOST_TEST(answer.trouble == "");
      BOOST_REQUIRE(!answer.tokens.empty());
      BOOST_TEST(answer.frames.at(1)["logprob"].is_number());
    } else {
      BOOST_TEST(client.until("error")["status"] == 400);
    }
    BOOST_TEST(read_answer(neighbour, "n").tokens == expected, boost::test_tools::per_element());
  };
  for (const char* value : {"0", "-0.0", "1e-45", "1e-8", "1e-4", "0.01", "2", "2.0", "null"}) {
    check(value, true);
  }
  for (const char* value :
       {"2.0001", "100", "-1", "-1e-9", "\"0\"", "true", "1e308", "1e999", "NaN", "[0]"}) {
    check(value, false);
  }
  server.wait_idle();
}

}  // namespace
}  // namespace tickertape::test
