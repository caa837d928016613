// C07: log-probabilities are finite numbers in valid JSON, whatever was banned. On the real model.
#include <boost/test/unit_test.hpp>
#include <string>

#include "tests/support/real_model.hpp"
#include "tests/support/test_server.hpp"
#include "tests/support/ws_client.hpp"

namespace tickertape::test {
namespace {

constexpr int kTokens = 3;

struct Fixture {
  Fixture() : server(real_model(), small_pool()), client(server.port()) { client.until("hello"); }

  /// Json::parse takes neither NaN nor Infinity, and next() throws where it fails.
  Answer ask(const Json& members) {
    Json submit = {{"type", "submit"},       {"id", "a"},
                   {"prompt", "The sky is"}, {"ignore_eos", true},
                   {"logprobs", true},       {"top_logprobs", 20},
                   {"max_tokens", kTokens},  {"prompt_logprobs", 20}};
    submit.update(members);
    client.send(submit);
    return read_answer(client, "a");
  }

  static void check_entry(const Json& entry) {
    BOOST_TEST(entry["logprob"].is_number());
    BOOST_TEST(entry["logprob"].get<double>() <= 0);
    BOOST_TEST(entry["logprob"].get<double>() >= -9999);
    double before = 0;
    BOOST_TEST(entry["top_logprobs"].size() <= 20U);
    for (const Json& other : entry["top_logprobs"]) {
      BOOST_TEST(other["logprob"].get<double>() <= before);
      before = other["logprob"];
      BOOST_TEST(before >= -9999);
    }
  }

  static void check(const Answer& answer) {
    BOOST_TEST(answer.trouble == "");
    BOOST_TEST(answer.tokens.size() == static_cast<std::size_t>(kTokens));
    for (const Json& frame : answer.frames) {
      if (frame["type"] == "token") check_entry(frame);
    }
    for (const Json& entry : answer.done["prompt_logprobs"]) check_entry(entry);
  }

  /// -100 on the first `count` ids.
  static Json bans(int count) {
    Json out = Json::object();
    for (int id = 0; id < count; ++id) out[std::to_string(id)] = -100;
    return out;
  }

  TestServer server;
  WsClient client;
};

BOOST_FIXTURE_TEST_SUITE(c07, Fixture)

BOOST_AUTO_TEST_CASE(c07_filters_and_temperatures) {
  check(ask({{"top_k", 1}}));
  check(ask({{"temperature", 0}}));
  check(ask({{"temperature", 1e-6}}));
  check(ask({{"top_p", 0}}));
}

BOOST_AUTO_TEST_CASE(c07_nearly_all_and_all_banned) {
  const Answer nearly = ask({{"logit_bias", bans(49'000)}, {"temperature", 0}});
  check(nearly);
  for (const int token : nearly.tokens) BOOST_TEST(token >= 49'000);
  // A bias is no ban: with the same one on all tokens the distribution is the model's own.
  const Answer all = ask({{"logit_bias", bans(49'152)}, {"temperature", 0}});
  check(all);
  BOOST_TEST(all.tokens == ask({{"temperature", 0}}).tokens, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(c07_what_is_not_allowed_is_no_alternative) {
  const Answer answer = ask({{"allowed_token_ids", {260, 274}}, {"temperature", 0}});
  check(answer);
  for (const Json& frame : answer.frames) {
    if (frame["type"] != "token") continue;
    BOOST_TEST((frame["token"] == 260 || frame["token"] == 274));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace tickertape::test
