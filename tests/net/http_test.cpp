// HTTP over a socket: keep-alive, limits, deadlines, and that every refusal can be read.
#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/test_server.hpp"

namespace tickertape::test {
namespace {

using Json = nlohmann::json;

const std::string kHost = "Host: localhost\r\n";

/// A server whose deadlines are short enough to wait for.
ServerOptions impatient() {
  ServerOptions options;
  options.handshake_timeout_s = 1.5;
  options.idle_timeout_s = 0.5;
  return options;
}

struct Fixture {
  explicit Fixture(ServerOptions options = {})
      : server(make_paged_fake_model(), tiny_pool(), std::move(options)) {}
  TestServer server;
};

void check_error(const HttpResult& result, int status) {
  BOOST_TEST(result.status == status);
  BOOST_TEST(result.header.find("Content-Type: application/json") != std::string::npos);
  BOOST_TEST(Json::parse(result.body)["error"]["message"].is_string());
  BOOST_TEST(result.body.size() < 4096U);
}

BOOST_FIXTURE_TEST_SUITE(http_socket, Fixture)

BOOST_AUTO_TEST_CASE(routes_answer) {
  for (const char* path : {"/", "/health", "/ready", "/version", "/metrics", "/v1/models"}) {
    const HttpResult result = get(server.port(), path);
    BOOST_TEST(result.status == 200, path);
    BOOST_TEST(!result.body.empty(), path);
  }
  const std::string metrics = get(server.port(), "/metrics").body;
  for (const std::string name :
       {"kv_pages", "host_pages", "preemptions_total", "swapped_pages_total",
        "prefix_cache_queries_total", "prefix_cache_hits_total"}) {
    BOOST_TEST(metrics.find("tickertape_" + name + "{model_name=\"") != std::string::npos, name);
  }
  BOOST_TEST(metrics.find("state=\"free\"} 24\n") != std::string::npos);
  const Json models = Json::parse(get(server.port(), "/v1/models").body);
  BOOST_TEST(models["data"][0]["max_model_len"] == 384);
}

BOOST_AUTO_TEST_CASE(head_has_the_length_and_no_body) {
  RawSocket socket(server.port());
  socket.send("HEAD /health HTTP/1.1\r\n" + kHost + "\r\nGET /health HTTP/1.1\r\n" + kHost +
              "\r\n");
  std::string rest;
  const HttpResult head = read_response(socket, rest, true);
  BOOST_TEST(head.status == 200);
  const HttpResult full = read_response(socket, rest);
  BOOST_TEST(full.status == 200);
  BOOST_TEST(head.header.find("Content-Length: " + std::to_string(full.body.size())) !=
             std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_connection_serves_many_requests_also_pipelined) {
  RawSocket socket(server.port());
  std::string requests;
  for (int i = 0; i < 1000; ++i) requests += "GET /health HTTP/1.1\r\n" + kHost + "\r\n";
  requests += "GET /nowhere HTTP/1.1\r\n" + kHost + "\r\n";
  socket.send(requests);
  std::string rest;
  for (int i = 0; i < 1000; ++i) BOOST_REQUIRE(read_response(socket, rest).status == 200);
  check_error(read_response(socket, rest), 404);
}

BOOST_AUTO_TEST_CASE(connection_close_is_obeyed) {
  RawSocket socket(server.port());
  socket.send("GET /health HTTP/1.1\r\n" + kHost + "Connection: close\r\n\r\n");
  const std::string all = socket.read_all();
  BOOST_TEST(all.starts_with("HTTP/1.1 200"));
  BOOST_TEST(!socket.was_reset());
}

BOOST_AUTO_TEST_CASE(old_clients_without_a_host_are_served) {
  RawSocket socket(server.port());
  socket.send("GET /health HTTP/1.0\r\n\r\n");
  BOOST_TEST(socket.read_all().find(" 200 ") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(garbage_after_a_good_request_gets_a_400) {
  RawSocket socket(server.port());
  socket.send("GET /health HTTP/1.1\r\n" + kHost + "\r\nnonsense\r\n\r\n");
  std::string rest;
  BOOST_TEST(read_response(socket, rest).status == 200);
  check_error(read_response(socket, rest), 400);
  BOOST_TEST(socket.read_all().empty());
}

BOOST_AUTO_TEST_CASE(malformed_requests_get_a_400) {
  for (const std::string& request :
       {std::string("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
        std::string("\x16\x03\x01\x02\x00\r\n\r\n"),
        "GET /health HTTP/1.1\r\n" + kHost + "Content-Length: -1\r\n\r\n",
        "GET /health HTTP/1.1\r\n" + kHost + "Content-Length: 99999999999999999999\r\n\r\n",
        "POST / HTTP/1.1\r\n" + kHost +
            "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "POST / HTTP/1.1\r\n" + kHost + "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd"}) {
    check_error(http(server.port(), request), 400);
  }
}

BOOST_AUTO_TEST_CASE(a_long_header_gets_a_431) {
  check_error(http(server.port(), "GET /health HTTP/1.1\r\n" + kHost +
                                      "X: " + std::string(20'000, 'x') + "\r\n\r\n"),
              431);
  check_error(http(server.port(), "GET /" + std::string(70'000, 'x') + " HTTP/1.1\r\n\r\n"), 431);
}

BOOST_AUTO_TEST_CASE(hosts_are_checked) {
  check_error(http(server.port(), "GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n"), 403);
  check_error(http(server.port(), "GET / HTTP/1.1\r\n\r\n"), 400);
  check_error(http(server.port(), "GET / HTTP/1.1\r\n" + kHost + kHost + "\r\n"), 400);
}

BOOST_AUTO_TEST_CASE(continue_is_said_before_a_body) {
  RawSocket socket(server.port());
  socket.send("POST /v1/completions HTTP/1.1\r\n" + kHost +
              "Content-Length: 2\r\nExpect: 100-continue\r\n\r\n");
  std::string rest;
  BOOST_TEST(read_response(socket, rest).status == 100);
  socket.send("{}");
  check_error(read_response(socket, rest), 404);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_CASE(a_long_body_gets_a_413_that_can_be_read) {
  ServerOptions options;
  options.max_body = 1000;
  Fixture fixture(options);
  const std::string start = "POST /v1/completions HTTP/1.1\r\n" + kHost;
  check_error(
      http(fixture.server.port(), start + "Content-Length: 1000\r\n\r\n" + std::string(1000, 'x')),
      404);
  check_error(http(fixture.server.port(), start + "Content-Length: 1001\r\n\r\n"), 413);
  // The client is still sending when the answer comes.
  check_error(http(fixture.server.port(),
                   start + "Content-Length: 4000000\r\n\r\n" + std::string(4'000'000, 'x')),
              413);
  check_error(http(fixture.server.port(),
                   start + "Transfer-Encoding: chunked\r\n\r\n500\r\n" + std::string(0x500, 'x')),
              413);
}

BOOST_AUTO_TEST_CASE(slow_and_silent_connections_are_closed) {
  Fixture fixture(impatient());
  RawSocket silent(fixture.server.port());
  RawSocket slow(fixture.server.port());
  slow.send("GET /health HT");
  RawSocket slow_body(fixture.server.port());
  slow_body.send("POST / HTTP/1.1\r\n" + kHost + "Content-Length: 100\r\n\r\nabc");
  RawSocket idle(fixture.server.port());
  idle.send("GET /health HTTP/1.1\r\n" + kHost + "\r\n");
  BOOST_TEST(silent.read_all().empty());
  BOOST_TEST(slow.read_all().starts_with("HTTP/1.1 408"));
  BOOST_TEST(slow_body.read_all().starts_with("HTTP/1.1 408"));
  BOOST_TEST(idle.read_all().starts_with("HTTP/1.1 200"));
  for (const RawSocket* socket : {&silent, &slow, &slow_body, &idle}) {
    BOOST_TEST(!socket->was_reset());
  }
  fixture.server.wait_connections(0);
}

}  // namespace
}  // namespace tickertape::test
