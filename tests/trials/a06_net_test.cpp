// A06: one long prompt must not freeze the streams that run.
#include <boost/test/unit_test.hpp>
#include <string>

#include "tests/support/test_server.hpp"
#include "tests/support/ws_client.hpp"

namespace tickertape::test {
namespace {

// While V is held in a pass, a long and a short prompt come in. From then on V gets a token in
// every pass, so in at least as many as the long prompt needs, and the short one overtakes the long
// one.
BOOST_AUTO_TEST_CASE(a06_a_long_prompt_leaves_running_streams_their_pace) {
  constexpr int kPromptTokens = 300;
  constexpr int kBudget = 24;
  constexpr int kChunk = 8;  // What one prompt may take of the budget.
  Script script;
  script.probe = std::make_shared<ScriptedProbe>();
  script.rules.resize(1);
  script.rules[0].match = "victim";
  script.rules[0].text = "v";
  script.rules[0].repeat = true;
  script.rules[0].block_at = 20;
  script.fallback.text = "x";
  EngineOptions options = tiny_pool();
  options.num_kv_pages = 64;  // All three fit at once.
  options.max_num_batched_tokens = kBudget;
  options.prefill_chunk = kChunk;
  TestServer server(make_scripted_model(script), options);
  WsClient client(server.port());
  client.until("hello");
  client.send({{"type", "submit"}, {"id", "v"}, {"prompt", "victim"}, {"max_tokens", 200}});
  script.probe->wait_until_blocked();
  client.send({{"type", "submit"},
               {"id", "long"},
               {"prompt", std::string(kPromptTokens, 'p')},
               {"max_tokens", 2}});
  client.send({{"type", "submit"}, {"id", "short"}, {"prompt", "tenletters"}, {"max_tokens", 2}});
  client.until("accepted", "short");
  script.probe->release();

  int victim_tokens = 0;
  bool short_came = false;
  for (;;) {
    const Json message = client.next();
    if (message["type"] != "token") continue;
    if (message["id"] == "long") break;
    victim_tokens += message["id"] == "v" ? 1 : 0;
    short_came = short_came || message["id"] == "short";
  }
  BOOST_TEST(short_came);
  BOOST_TEST(victim_tokens >= kPromptTokens / kChunk);
  client.until("done", "v");
  server.wait_idle();
}

}  // namespace
}  // namespace tickertape::test
