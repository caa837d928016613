// G03: a fault inside the server costs the connection it happened on, and nobody else.
#include <array>
#include <boost/test/unit_test.hpp>
#include <new>
#include <string>
#include <system_error>

#include "tests/support/hooked_model.hpp"
#include "tests/support/test_server.hpp"
#include "tests/support/ws_client.hpp"

namespace tickertape::test {
namespace {

/// Another kind of exception for each text: the last is no std::exception.
void throw_at(std::string_view text) {
  if (text == "throw 0") throw std::bad_alloc();
  if (text == "throw 1") throw std::system_error(std::make_error_code(std::errc::io_error));
  if (text == "throw 2") throw 2;
}

/// Refused with 500, or the connection has ended.
bool was_told(WsClient& client, std::string_view id) {
  for (WsFrame frame = client.next_frame();; frame = client.next_frame()) {
    if (frame.opcode == 0 || frame.opcode == 8) return true;
    if (frame.opcode != 1) continue;
    const Json message = Json::parse(frame.payload);
    if (message["type"] == "error" && message["id"] == id) return message["status"] == 500;
    if (message["type"] == "accepted" || message["type"] == "token") return false;
  }
}

BOOST_AUTO_TEST_CASE(g03_a_throwing_tokenizer_costs_its_own_connection_only) {
  Script script;
  script.probe = std::make_shared<ScriptedProbe>();
  script.rules.resize(1);
  script.rules[0].match = "neighbour";
  script.rules[0].text = "0123456789";
  script.rules[0].block_at = 5;
  script.fallback.text = "fine";
  TokenizerHooks hooks;
  hooks.on_encode = throw_at;
  TestServer server(std::make_shared<HookedModel>(make_scripted_model(script), std::move(hooks)));
  WsClient neighbour(server.port());
  neighbour.until("hello");
  neighbour.send({{"type", "submit"}, {"id", "n"}, {"prompt", "neighbour"}});
  script.probe->wait_until_blocked();
  for (int round = 0; round < 9; ++round) {
    WsClient client(server.port());
    client.until("hello");
    client.send(
        {{"type", "submit"}, {"id", "a"}, {"prompt", "throw " + std::to_string(round % 3)}});
    BOOST_TEST(was_told(client, "a"));
  }
  script.probe->release();
  const Answer answer = read_answer(neighbour, "n");
  BOOST_TEST(answer.trouble == "");
  BOOST_TEST(answer.text == "0123456789");
  server.wait_idle();
  WsClient later(server.port());
  later.until("hello");
  later.send({{"type", "submit"}, {"id", "l"}, {"prompt", "x"}});
  BOOST_TEST(read_answer(later, "l").text == "fine");
  BOOST_TEST(get(server.port(), "/ready").status == 200);
}

}  // namespace
}  // namespace tickertape::test
