// B12: pings, messages and a close are seen while a generation runs.
#include <boost/test/unit_test.hpp>
#include <string>

#include "tests/support/test_server.hpp"
#include "tests/support/ws_client.hpp"

namespace tickertape::test {
namespace {

BOOST_AUTO_TEST_CASE(b12_a_read_is_always_pending) {
  Script script;
  script.probe = std::make_shared<ScriptedProbe>();
  script.rules.resize(1);
  script.rules[0].match = "endless";
  script.rules[0].text = "z";
  script.rules[0].repeat = true;
  script.rules[0].block_at = 5;
  script.fallback.text = "fine";
  TestServer server(make_scripted_model(script));
  WsClient client(server.port());
  client.send({{"type", "submit"}, {"id", "a"}, {"prompt", "endless"}, {"max_tokens", 300}});
  script.probe->wait_until_blocked();
  for (int i = 0; i < 5; ++i) client.until("token", "a");

  // From here on the generation is held in the middle of a pass.
  client.socket().send(std::string("\x89\x80\x00\x00\x00\x00", 6));
  BOOST_TEST(client.next_frame().opcode == 10U);
  client.send({{"type", "submit"}, {"id", "b"}, {"prompt", "second"}});
  BOOST_TEST(client.next()["type"] == "accepted");
  client.socket().send(std::string("\x88\x82\x00\x00\x00\x00\x03\xE8", 8));
  BOOST_TEST(client.wait_close() == 1000);
  client.socket().close();
  server.wait_connections(0);
  script.probe->release();
  server.wait_idle();
  BOOST_TEST(script.probe->samples.load() <= 8U);
  const EngineStats stats = server.engine().stats();
  BOOST_TEST(stats.finished[static_cast<std::size_t>(FinishReason::cancelled)] == 2U);
}

}  // namespace
}  // namespace tickertape::test
