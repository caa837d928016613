// G03: the server's memory runs out at every point of a connection's life, from the accept to the
// end of its close, and its descriptors in between; each costs the connection it happened on.
#include <sys/resource.h>

#include <boost/test/unit_test.hpp>
#include <functional>
#include <string>
#include <vector>

#include "tests/support/failing_new.hpp"
#include "tests/support/test_server.hpp"
#include "tests/support/ws_client.hpp"

namespace tickertape::test {
namespace {

std::string get_request(std::string_view path) {
  return "GET " + std::string(path) + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
}

EngineOptions patient() {
  EngineOptions options = large_pool();
  options.stall_timeout_s = 3'600;
  return options;
}

/// A server with a generation that waits for its reader, and is not to notice anything.
struct Fixture {
  Fixture() {
    neighbour.until("hello");
    neighbour.send({{"type", "submit"}, {"id", "n"}, {"prompt", "neighbour"}, {"window", 1}});
    while (answer.tokens.empty()) add_frame(answer, neighbour.next());
    server.wait_for([](const EngineStats& stats) { return stats.num_parked == 1; });
    // What is answered now comes behind all that the server did for the token.
    neighbour.send({{"type", "ping"}});
    neighbour.until("pong");
  }
  ~Fixture() {
    neighbour.send({{"type", "credit"}, {"id", "n"}, {"tokens", 100}});
    while (answer.done.is_null()) add_frame(answer, neighbour.next());
    BOOST_TEST(answer.trouble == "");
    BOOST_TEST(answer.text == "fine");
    server.wait_idle();
  }

  /// Repeats what a client does; in each round another allocation of the server fails, until there
  /// is none left. Gives the number of rounds.
  std::uint64_t fail_each_allocation(const std::function<void()>& visit) {
    for (std::uint64_t number = 1;; ++number) {
      server.on_loop([number] { fail_allocation(number); });
      visit();
      server.wait_connections(1);
      bool reached = false;
      server.on_loop([&reached] { reached = fail_allocation(0); });
      if (!reached) return number - 1;
      BOOST_TEST_REQUIRE(get(server.port(), "/health").status == 200, "round " << number);
      server.wait_connections(1);
      server.wait_for([](const EngineStats& stats) { return stats.num_running == 1; });
    }
  }

  static std::shared_ptr<const Model> model() {
    Script script;
    script.fallback.text = "fine";
    return make_scripted_model(script);
  }

  TestServer server{model(), patient()};
  WsClient neighbour{server.port()};
  Answer answer;
};

/// The whole page, a refusal, or nothing: never a part.
void check_answer(const std::string& answer) {
  if (answer.empty()) return;
  const auto end = answer.find("\r\n\r\n");
  BOOST_TEST_REQUIRE(end != std::string::npos);
  const auto field = answer.find("Content-Length: ");
  BOOST_TEST_REQUIRE(field < end);
  BOOST_TEST(answer.size() == end + 4 + std::stoul(answer.substr(field + 16)));
}

BOOST_FIXTURE_TEST_SUITE(g03_faults, Fixture)

BOOST_AUTO_TEST_CASE(g03_memory_runs_out_while_a_request_is_answered) {
  for (const char* path : {"/metrics", "/ready", "/v1/models", "/nowhere"}) {
    const std::uint64_t rounds = fail_each_allocation([&] {
      RawSocket socket(server.port());
      socket.send(get_request(path));
      check_answer(socket.read_all());
    });
    BOOST_TEST(rounds > 5U);
    BOOST_TEST_MESSAGE(path << ": " << rounds << " allocations failed");
  }
}

BOOST_AUTO_TEST_CASE(g03_memory_runs_out_while_a_request_is_refused) {
  for (const std::string& request :
       {std::string("nonsense\r\n\r\n"), "GET / HTTP/1.1\r\nX: " + std::string(20'000, 'x'),
        std::string(
            "POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")}) {
    const std::uint64_t rounds = fail_each_allocation([&] {
      RawSocket socket(server.port());
      socket.send(request);
      check_answer(socket.read_all());
    });
    BOOST_TEST(rounds > 5U);
  }
}

/// Reads until `type` came for `id`, or an error instead; false if the connection ends before.
bool read_until(WsClient& client, std::string_view type, std::string_view id) {
  for (WsFrame frame = client.next_frame(); frame.opcode != 0; frame = client.next_frame()) {
    if (frame.opcode == 8) return false;
    if (frame.opcode != 1) continue;
    const Json message = Json::parse(frame.payload);
    const bool ends = message["type"] == type || message["type"] == "error";
    if (ends && (id.empty() || message.value("id", "") == id)) return true;
  }
  return false;
}

BOOST_AUTO_TEST_CASE(g03_memory_runs_out_while_a_websocket_is_served) {
  const std::uint64_t rounds = fail_each_allocation([&] {
    WsClient client(server.port());
    if (client.status() != 101) return;
    client.send({{"type", "submit"}, {"id", "a"}, {"prompt", "x"}, {"temperature", -1}});
    if (!read_until(client, "error", "a")) return;
    client.send({{"type", "ping"}});
    if (!read_until(client, "pong", "")) return;
    client.send_text("nonsense");
    if (!read_until(client, "error", "")) return;
    client.send_close();
    client.wait_close();
  });
  BOOST_TEST_MESSAGE(rounds << " allocations failed");
  BOOST_TEST(rounds > 20U);
}

BOOST_AUTO_TEST_CASE(g03_memory_runs_out_while_a_client_goes) {
  for (int way = 0; way < 3; ++way) {
    const std::uint64_t rounds = fail_each_allocation([&] {
      WsClient client(server.port());
      if (client.status() != 101) return;
      client.send({{"type", "ping"}});
      if (!read_until(client, "pong", "")) return;
      if (way == 0) client.socket().reset();
      if (way == 1) client.socket().shutdown_send();
      if (way == 2) client.socket().send(WsClient::frame(2, "binary"));
    });
    BOOST_TEST_MESSAGE(rounds << " allocations failed");
    BOOST_TEST(rounds > 20U);
  }
}

/// A page whose handler would open a file.
BOOST_AUTO_TEST_CASE(g03_descriptors_run_out_in_the_metrics_handler) {
  RawSocket client(server.port());
  std::string rest;
  client.send("GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n");
  BOOST_TEST(read_response(client, rest).status == 200);
  rlimit before{};
  BOOST_REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  rlimit none = before;
  none.rlim_cur = 3;  // Every number below is in use.
  BOOST_REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
  client.send(get_request("/metrics"));
  const HttpResult page = read_response(client, rest);
  BOOST_REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
  BOOST_TEST(page.status == 200);
  BOOST_TEST(page.body.find("tickertape_open_connections") != std::string::npos);
  BOOST_TEST(page.body.find("process_open_fds") == std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace tickertape::test
