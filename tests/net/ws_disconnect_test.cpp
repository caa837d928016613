// Ends of a connection: every way to go away frees what was asked for.
#include <boost/test/unit_test.hpp>
#include <optional>
#include <string>

#include "tests/support/test_server.hpp"
#include "tests/support/ws_client.hpp"

namespace tickertape::test {
namespace {

Json parked(const std::string& id) {
  return {{"type", "submit"},   {"id", id},    {"prompt", "some words to hold a page or two"},
          {"ignore_eos", true}, {"window", 2}, {"max_tokens", 100}};
}

/// Starts `count` generations that hold pages and wait for credit.
void start_parked(TestServer& server, WsClient& client, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) client.send(parked(std::to_string(i)));
  server.wait_for([&](const EngineStats& stats) { return stats.num_parked == count; });
}

void check_gone(TestServer& server, std::uint64_t cancelled) {
  server.wait_idle();
  server.wait_connections(0);
  BOOST_TEST(server.engine().stats().finished[static_cast<std::size_t>(FinishReason::cancelled)] ==
             cancelled);
}

BOOST_AUTO_TEST_SUITE(ws_disconnect)

BOOST_AUTO_TEST_CASE(fin_reset_and_close_frame_free_everything) {
  TestServer server(make_paged_fake_model(), large_pool());
  {
    WsClient client(server.port());
    start_parked(server, client, 5);
    client.socket().close();
    check_gone(server, 5);
  }
  {
    WsClient client(server.port());
    start_parked(server, client, 5);
    client.socket().reset();
    check_gone(server, 10);
  }
  {
    WsClient client(server.port());
    start_parked(server, client, 5);
    client.send_close(1000);
    BOOST_TEST(client.wait_close() == 1000);
    server.wait_idle();
    client.socket().close();
    check_gone(server, 15);
  }
  {
    WsClient client(server.port());
    start_parked(server, client, 5);
    client.socket().shutdown_send();  // Half closed counts as gone.
    check_gone(server, 20);
  }
}

BOOST_AUTO_TEST_CASE(a_protocol_violation_frees_everything) {
  TestServer server(make_paged_fake_model(), large_pool());
  WsClient client(server.port());
  start_parked(server, client, 5);
  client.socket().send(WsClient::frame(2, "binary"));
  BOOST_TEST(client.wait_close() == 1003);
  client.send_close(1003);
  client.socket().close();
  check_gone(server, 5);
}

// The close frame cannot be answered yet, since the reader takes nothing: it counts all the same.
BOOST_AUTO_TEST_CASE(a_close_frame_behind_a_full_socket_is_seen) {
  ServerOptions options;
  options.max_write_buffer = 32U << 10;
  TestServer server(make_paged_fake_model(), large_pool(), options);
  WsClient client(server.port(), 4096);
  client.send({{"type", "submit"},
               {"id", "a"},
               {"prompt", "x"},
               {"ignore_eos", true},
               {"max_tokens", 10'000},
               {"logprobs", 20}});
  server.wait_for([](const EngineStats& stats) { return stats.num_parked == 1; });
  client.send_close(1000);
  server.wait_idle();
  client.socket().close();
  server.wait_connections(0);
}

BOOST_AUTO_TEST_CASE(a_peer_that_answers_no_ping_is_dropped) {
  ServerOptions options;
  options.idle_timeout_s = 1;
  TestServer server(make_paged_fake_model(), large_pool(), options);
  WsClient client(server.port());
  start_parked(server, client, 3);
  check_gone(server, 3);
}

BOOST_AUTO_TEST_CASE(a_silent_peer_that_answers_pings_stays) {
  ServerOptions options;
  options.idle_timeout_s = 2;
  TestServer server(make_paged_fake_model(), large_pool(), options);
  WsClient client(server.port());
  start_parked(server, client, 1);
  for (int pings = 0; pings < 3;) {
    const WsFrame frame = client.next_frame();
    BOOST_REQUIRE(frame.opcode != 0U);
    if (frame.opcode != 9) continue;
    client.socket().send(WsClient::frame(10, frame.payload));
    ++pings;
  }
  client.send({{"type", "cancel"}, {"id", "0"}});
  BOOST_TEST(client.until("done", "0")["finish_reason"] == "cancelled");
}

BOOST_AUTO_TEST_CASE(an_engine_that_stops_ends_everything_as_shutdown) {
  TestServer server(make_paged_fake_model(), large_pool());
  WsClient client(server.port());
  start_parked(server, client, 3);
  server.engine().stop();
  for (int i = 0; i < 3; ++i) {
    BOOST_TEST(client.until("done")["finish_reason"] == "shutdown");
  }
  client.send(parked("late"));
  BOOST_TEST(client.until("error", "late")["status"] == 503);
}

BOOST_AUTO_TEST_CASE(a_server_may_go_before_its_clients_and_their_generations) {
  std::optional<WsClient> client;
  std::optional<RawSocket> idle;
  {
    TestServer server(make_paged_fake_model(), large_pool());
    client.emplace(server.port());
    idle.emplace(server.port());
    start_parked(server, *client, 4);
  }
  BOOST_TEST(client->wait_close() == 0);
  BOOST_TEST(idle->read_all().empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace tickertape::test
