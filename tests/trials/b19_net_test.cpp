// B19: clients that reset the connection at the worst moments cost their own session only.
#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "tests/support/test_server.hpp"
#include "tests/support/ws_client.hpp"

namespace tickertape::test {
namespace {

constexpr int kClients = 200;

Script endless() {
  Script script;
  script.rules.resize(1);
  script.rules[0].match = "survivor";
  script.rules[0].text = "fine";
  script.fallback.text = "x";
  script.fallback.repeat = true;
  return script;
}

/// A signal or an exception would have ended this process.
struct Fixture {
  Fixture() : server(make_scripted_model(endless()), large_pool()) {}
  ~Fixture() {
    WsClient client(server.port());
    client.until("hello");
    client.send({{"type", "submit"}, {"id", "a"}, {"prompt", "survivor"}});
    BOOST_TEST(read_answer(client, "a").text == "fine");
    server.wait_connections(1);
    server.wait_idle();
    BOOST_TEST(get(server.port(), "/health").status == 200);
  }
  TestServer server;
};

BOOST_FIXTURE_TEST_SUITE(b19, Fixture)

BOOST_AUTO_TEST_CASE(b19_reset_after_the_first_event) {
  std::vector<WsClient> clients;
  for (int i = 0; i < kClients; ++i) {
    clients.emplace_back(server.port());
    clients.back().send(
        {{"type", "submit"}, {"id", "a"}, {"prompt", "x"}, {"max_tokens", 2'000'000}});
  }
  for (WsClient& client : clients) client.until("accepted");
  for (WsClient& client : clients) client.socket().reset();
}

BOOST_AUTO_TEST_CASE(b19_reset_during_100_continue) {
  for (int i = 0; i < kClients; ++i) {
    RawSocket socket(server.port());
    socket.send(
        "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n"
        "Expect: 100-continue\r\n\r\n");
    // Half of them before the answer, half after it.
    if (i % 2 == 0) BOOST_TEST(socket.read().starts_with("HTTP/1.1 100"));
    socket.reset();
  }
}

BOOST_AUTO_TEST_CASE(b19_reset_during_the_handshake) {
  const std::string handshake = std::string(WsClient::kHandshake) + "\r\n";
  for (std::size_t i = 0; i < kClients; ++i) {
    RawSocket socket(server.port());
    socket.send(std::string_view(handshake).substr(0, handshake.size() * (i % 10 + 1) / 10));
    socket.reset();
  }
}

BOOST_AUTO_TEST_CASE(b19_reset_during_error_replies) {
  for (int i = 0; i < kClients; ++i) {
    RawSocket socket(server.port());
    socket.send(i % 2 == 0 ? "nonsense\r\n\r\n" : "GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n");
    socket.reset();
  }
  for (int i = 0; i < kClients; ++i) {
    WsClient client(server.port());
    for (int k = 0; k < 20; ++k) client.send_text("nonsense");
    client.socket().send(WsClient::frame(3, "and a frame that closes"));
    client.socket().reset();
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace tickertape::test
