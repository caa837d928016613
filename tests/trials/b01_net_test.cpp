// B01: when the client goes away, its generation ends, in whatever phase it is.
#include <boost/test/unit_test.hpp>
#include <optional>
#include <string>

#include "tests/support/test_server.hpp"
#include "tests/support/ws_client.hpp"

namespace tickertape::test {
namespace {

enum class Leave { fin, rst, close_frame };

void leave(WsClient& client, Leave how) {
  switch (how) {
    case Leave::fin:
      client.socket().close();
      break;
    case Leave::rst:
      client.socket().reset();
      break;
    case Leave::close_frame:
      client.send_close();
      break;
  }
}

ScriptRule endless(const std::string& match) {
  ScriptRule rule;
  rule.match = match;
  rule.text = "z";
  rule.repeat = true;
  return rule;
}

/// Leaves, and returns once the server has noticed: `others` connections remain.
void leave_and_wait(TestServer& server, WsClient& client, Leave how, std::size_t others) {
  leave(client, how);
  if (how == Leave::close_frame) {
    BOOST_TEST(client.wait_close() == 1000);
  } else {
    server.wait_connections(others);
  }
}

/// A script whose passes stop where a rule says so, and a server for it.
struct World {
  explicit World(std::vector<ScriptRule> rules, std::uint32_t max_num_seqs) {
    script.probe = std::make_shared<ScriptedProbe>();
    script.rules = std::move(rules);
    script.fallback.text = "fine";
    EngineOptions options = tiny_pool();
    options.max_num_seqs = max_num_seqs;
    options.max_num_batched_tokens = 64;
    options.num_kv_pages = 64;
    server.emplace(make_scripted_model(script), options);
  }
  void submit(WsClient& client, const std::string& prompt, int max_tokens) {
    client.send({{"type", "submit"}, {"id", "a"}, {"prompt", prompt}, {"max_tokens", max_tokens}});
    client.until("accepted");
  }
  [[nodiscard]] std::uint64_t num_cancelled() {
    return server->engine().stats().finished[static_cast<std::size_t>(FinishReason::cancelled)];
  }
  /// The one that left is gone, and was noticed before it could make many tokens.
  void check_gone(std::uint64_t most_samples) {
    server->wait_idle();
    BOOST_TEST(num_cancelled() == 1U);
    BOOST_TEST(script.probe->samples.load() <= most_samples);
    WsClient next(server->port());
    submit(next, "next", 10);
    next.until("done");
    BOOST_TEST(num_cancelled() == 1U);
  }

  Script script;
  std::optional<TestServer> server;
};

void leave_in_decode(Leave how) {
  ScriptRule rule = endless("leaver");
  rule.block_at = 3;
  World world({rule}, 8);
  WsClient leaver(world.server->port());
  world.submit(leaver, "leaver", 300);
  world.script.probe->wait_until_blocked();
  leave_and_wait(*world.server, leaver, how, 0);
  world.script.probe->release();
  world.check_gone(6);
}

void leave_in_queue(Leave how) {
  ScriptRule first = endless("first");
  first.block_at = 3;
  World world({first, endless("leaver")}, 1);
  WsClient running(world.server->port());
  world.submit(running, "first", 8);
  world.script.probe->wait_until_blocked();
  WsClient leaver(world.server->port());
  world.submit(leaver, "leaver", 300);
  leave_and_wait(*world.server, leaver, how, 1);
  world.script.probe->release();
  BOOST_TEST(running.until("done")["usage"]["completion_tokens"] == 8);
  world.check_gone(8);  // The queued one made none at all.
}

// A pass that holds the leaver's first chunk is held by the first token of `second`.
void leave_in_prefill(Leave how) {
  ScriptRule first = endless("first");
  first.block_at = 1;
  ScriptRule second = endless("second");
  second.block_at = 0;
  World world({first, second, endless("leaver")}, 8);
  WsClient one(world.server->port());
  world.submit(one, "first", 4);
  world.script.probe->wait_until_blocked(1);
  WsClient two(world.server->port());
  world.submit(two, "second", 4);
  WsClient leaver(world.server->port());
  world.submit(leaver, "leaver" + std::string(400, '.'), 300);
  world.script.probe->release();
  world.script.probe->wait_until_blocked(2);
  leave_and_wait(*world.server, leaver, how, 2);
  world.script.probe->release();
  one.until("done");
  two.until("done");
  world.check_gone(8);  // Four of each neighbour, none of the leaver.
}

BOOST_AUTO_TEST_SUITE(b01)

BOOST_AUTO_TEST_CASE(b01_gone_while_decoding) {
  for (const Leave how : {Leave::fin, Leave::rst, Leave::close_frame}) leave_in_decode(how);
}

BOOST_AUTO_TEST_CASE(b01_gone_while_queued) {
  for (const Leave how : {Leave::fin, Leave::rst, Leave::close_frame}) leave_in_queue(how);
}

BOOST_AUTO_TEST_CASE(b01_gone_while_its_prompt_is_read) {
  for (const Leave how : {Leave::fin, Leave::rst, Leave::close_frame}) leave_in_prefill(how);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace tickertape::test
