// G02: connections that are reset at any point leave nothing behind (meant for the ASan build).
#include <boost/test/unit_test.hpp>
#include <random>
#include <string>

#include "tests/support/test_server.hpp"
#include "tests/support/ws_client.hpp"

namespace tickertape::test {
namespace {

const std::string kGet = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";

/// Goes as far as `point` says, then resets the connection.
void come_and_go(TestServer& server, unsigned point, std::mt19937& random) {
  if (point < 4) {
    RawSocket socket(server.port());
    const std::string bytes = point < 2 ? kGet : std::string(WsClient::kHandshake) + "\r\n";
    socket.send(bytes.substr(0, point % 2 == 0 ? random() % bytes.size() : bytes.size()));
    socket.reset();
    return;
  }
  WsClient client(server.port());
  if (point >= 5) {
    client.send({{"type", "submit"},
                 {"id", "a"},
                 {"prompt_ids", {5, 6, 7}},
                 {"max_tokens", 50},
                 {"ignore_eos", true}});
  }
  if (point == 6) client.until("accepted");
  if (point >= 7) client.until("token");
  if (point == 8) client.send_close();
  if (point == 9) client.send({{"type", "cancel"}, {"id", "a"}});
  client.socket().reset();
}

BOOST_AUTO_TEST_CASE(g02_two_thousand_connections_reset_at_random_points) {
  constexpr unsigned kPoints = 10;
  PagedFakeOptions fake;
  fake.probe = std::make_shared<PagedFakeProbe>();
  TestServer server(make_paged_fake_model(fake));
  std::mt19937 random(12345);
  for (int i = 0; i < 2000; ++i) come_and_go(server, random() % kPoints, random);
  server.wait_connections(0);
  server.wait_idle();
  BOOST_TEST(fake.probe->violations() == 0U, fake.probe->first_violation());
  WsClient client(server.port());
  client.until("hello");
  client.send({{"type", "submit"},
               {"id", "a"},
               {"prompt_ids", {5}},
               {"max_tokens", 3},
               {"ignore_eos", true}});
  BOOST_TEST(read_answer(client, "a").tokens.size() == 3U);
}

}  // namespace
}  // namespace tickertape::test
