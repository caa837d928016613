// A10: aborting a request that never ran hurts nobody.
#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "tests/support/test_server.hpp"
#include "tests/support/ws_client.hpp"

namespace tickertape::test {
namespace {

struct Fixture {
  Fixture() {
    script.probe = std::make_shared<ScriptedProbe>();
    script.rules.resize(1);
    script.rules[0].match = "first";
    script.rules[0].text = "0123456789";
    script.rules[0].repeat = true;
    script.fallback.text = "fine";
    options.max_num_seqs = 1;
  }

  void start_first(WsClient& client) {
    client.until("hello");
    client.send({{"type", "submit"}, {"id", "A"}, {"prompt", "first"}, {"max_tokens", 200}});
  }
  void check_first(const Answer& answer) {
    std::string expected;
    for (int i = 0; i < 20; ++i) expected += "0123456789";
    BOOST_TEST(answer.trouble == "");
    BOOST_TEST(answer.text == expected);
    BOOST_TEST(answer.done["finish_reason"] == "length");
  }
  void check_survivor(TestServer& server) {
    server.wait_idle();
    WsClient probe(server.port());
    probe.until("hello");
    probe.send({{"type", "submit"}, {"id", "p"}, {"prompt", "x"}});
    BOOST_TEST(read_answer(probe, "p").text == "fine");
  }

  Script script;
  EngineOptions options = tiny_pool();
};

BOOST_FIXTURE_TEST_SUITE(a10, Fixture)

BOOST_AUTO_TEST_CASE(a10_queued_requests_may_go_while_another_decodes) {
  script.rules[0].block_at = 50;
  TestServer server(make_scripted_model(script), options);
  WsClient client(server.port());
  start_first(client);
  script.probe->wait_until_blocked();
  std::vector<WsClient> queued;
  for (int i = 0; i < 6; ++i) {
    queued.emplace_back(server.port());
    queued.back().send({{"type", "submit"}, {"id", "q"}, {"prompt", "queued"}});
    queued.back().until("accepted");
  }
  for (std::size_t i = 0; i < queued.size(); ++i) {
    if (i % 3 == 0) queued[i].socket().close();
    if (i % 3 == 1) queued[i].socket().reset();
    if (i % 3 == 2) queued[i].send({{"type", "cancel"}, {"id", "q"}});
  }
  for (std::size_t i = 2; i < queued.size(); i += 3) {
    const Json done = queued[i].until("done", "q");
    BOOST_TEST(done["finish_reason"] == "cancelled");
    BOOST_TEST(done["usage"]["completion_tokens"] == 0);
  }
  server.wait_connections(3);
  script.probe->release();
  check_first(read_answer(client, "A"));
  check_survivor(server);
  const auto finished = server.engine().stats().finished;
  BOOST_TEST(finished[static_cast<std::size_t>(FinishReason::cancelled)] == 6U);
}

// The queued one goes in the very moment in which the running one ends.
BOOST_AUTO_TEST_CASE(a10_a_queued_request_goes_as_the_running_one_ends) {
  TestServer server(make_scripted_model(script), options);
  WsClient client(server.port());
  for (int round = 0; round < 30; ++round) {
    WsClient queued(server.port());
    queued.until("hello");
    if (round == 0) client.until("hello");
    client.send({{"type", "submit"}, {"id", "A"}, {"prompt", "first"}, {"max_tokens", 200}});
    queued.send({{"type", "submit"}, {"id", "q"}, {"prompt", "queued"}});
    Answer answer;
    while (answer.done.is_null()) {
      add_frame(answer, client.next());
      if (answer.tokens.size() == static_cast<std::size_t>(170 + round)) queued.socket().reset();
    }
    check_first(answer);
  }
  check_survivor(server);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace tickertape::test
