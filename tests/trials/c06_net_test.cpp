// C06: token ids that the vocabulary does not have are refused by name, beside a stream that must
// not notice.
#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "tests/support/test_server.hpp"
#include "tests/support/ws_client.hpp"

namespace tickertape::test {
namespace {

/// The paged fake has 1,000 tokens.
struct Fixture {
  Fixture() : server(make_paged_fake_model()), client(server.port()), neighbour(server.port()) {
    client.until("hello");
    neighbour.until("hello");
    SamplingParams greedy;
    greedy.temperature = 0;
    greedy.ignore_eos = true;
    const TokenId prompt[] = {4, 5, 6};
    expected = paged_fake_expected(prompt, greedy, 0, 0, 200, PagedFakeOptions());
  }

  /// Three times, each with a stream in flight.
  void check(const std::string& members, const std::string& param) {
    for (int round = 0; round < 3; ++round) {
      neighbour.send({{"type", "submit"},
                      {"id", "n"},
                      {"prompt_ids", {4, 5, 6}},
                      {"temperature", 0},
                      {"ignore_eos", true},
                      {"max_tokens", 200}});
      client.send_text(R"({"type":"submit","id":"t","max_tokens":4,)" + members + "}");
      const Answer answer = read_answer(client, "t");
      if (param.empty()) {
        BOOST_TEST(answer.trouble == "");
        BOOST_TEST(!answer.done.is_null(), members);
      } else {
        const Json& error = answer.frames.back();
        BOOST_TEST(error["type"] == "error", members);
        BOOST_TEST(error["status"] == 400, members);
        BOOST_TEST(error["param"] == param, members);
      }
      BOOST_TEST(read_answer(neighbour, "n").tokens == expected, boost::test_tools::per_element());
    }
  }

  TestServer server;
  WsClient client;
  WsClient neighbour;
  std::vector<int> expected;
};

BOOST_FIXTURE_TEST_SUITE(c06, Fixture)

BOOST_AUTO_TEST_CASE(c06_logit_bias) {
  const auto bias = [](const std::string& entry) {
    return R"("prompt":"x","logit_bias":{)" + entry + "}";
  };
  check(bias(R"("999":1)"), "");
  for (const char* entry :
       {R"("-1":1)", R"("1000":1)", R"("4294967296":1)", R"("abc":1)", R"("1.5":1)", R"("":1)",
        R"("1":null)", R"("1":"x")", R"("1":101)", R"("1":1e999)"}) {
    check(bias(entry), "logit_bias");
  }
}

BOOST_AUTO_TEST_CASE(c06_lists_of_ids) {
  for (const std::string name : {"stop_token_ids", "allowed_token_ids"}) {
    const auto list = [&](const std::string& ids) {
      return R"("prompt":"x",")" + name + "\":" + ids;
    };
    check(list("[999]"), "");
    for (const char* ids : {"[-1]", "[1000]", "[2147483648]", "[18446744073709551616]", "[1.5]"}) {
      check(list(ids), name);
    }
  }
}

BOOST_AUTO_TEST_CASE(c06_prompts_of_ids) {
  check(R"("prompt":[999])", "");
  for (const char* ids : {"[-1]", "[1000]", "[[1000]]", "[9223372036854775808]", "[1.5]", "[true]",
                          "[36893488147419103232]"}) {
    check(R"("prompt":)" + std::string(ids), "prompt");
  }
  check(R"("prompt_ids":[1000])", "prompt_ids");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace tickertape::test
