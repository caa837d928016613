// Server: where it listens, how many it takes, and that accepting never ends.
#include <sys/resource.h>

#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "tests/support/test_server.hpp"

namespace tickertape::test {
namespace {

/// What the construction of a server with these options throws.
std::string thrown(const ServerOptions& options) {
  boost::asio::io_context io;
  Engine engine(make_paged_fake_model(), tiny_pool());
  try {
    Server server(io.get_executor(), engine, options);
  } catch (const Error& error) {
    BOOST_TEST((error.info().code == Errc::invalid_request));
    return error.what();
  }
  return {};
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

const std::string kGet = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n";

BOOST_AUTO_TEST_SUITE(server)

BOOST_AUTO_TEST_CASE(beyond_loopback_needs_a_word) {
  ServerOptions options;
  options.port = 0;
  options.host = "0.0.0.0";
  const std::string error = thrown(options);
  BOOST_TEST(contains(error, "--host"));
  BOOST_TEST(contains(error, "--allow-anonymous"));
  options.allow_anonymous = true;
  BOOST_TEST(thrown(options) == "");
}

BOOST_AUTO_TEST_CASE(addresses_that_cannot_be_had_are_named) {
  ServerOptions options;
  options.host = "no such host";
  BOOST_TEST(contains(thrown(options), "--host"));
  TestServer other(make_paged_fake_model());
  options.host = "127.0.0.1";
  options.port = other.port();
  BOOST_TEST(contains(thrown(options), "--port " + std::to_string(other.port())));
}

BOOST_AUTO_TEST_CASE(names_and_urls) {
  ServerOptions options;
  options.host = "localhost";
  TestServer named(make_paged_fake_model(), tiny_pool(), options);
  BOOST_TEST(named.port() != 0);
  TestServer plain(make_paged_fake_model());
  BOOST_TEST(plain.server().url() == "http://127.0.0.1:" + std::to_string(plain.port()));
}

BOOST_AUTO_TEST_CASE(too_many_connections_are_told_so) {
  ServerOptions options;
  options.max_connections = 2;
  TestServer server(make_paged_fake_model(), tiny_pool(), options);
  std::vector<RawSocket> held;
  std::vector<std::string> rest(2);
  for (std::size_t i = 0; i < 2; ++i) {
    held.emplace_back(server.port());
    held.back().send(kGet);
    BOOST_TEST(read_response(held.back(), rest[i]).status == 200);
  }
  const HttpResult refused = http(server.port(), kGet);
  BOOST_TEST(refused.status == 503);
  BOOST_TEST(contains(refused.header, "Retry-After"));
  held.clear();
  server.wait_connections(0);
  BOOST_TEST(http(server.port(), kGet).status == 200);
}

BOOST_AUTO_TEST_CASE(far_too_many_wait_and_are_served_later) {
  ServerOptions options;
  options.max_connections = 1;
  TestServer server(make_paged_fake_model(), tiny_pool(), options);
  std::vector<RawSocket> crowd;
  for (int i = 0; i < 100; ++i) crowd.emplace_back(server.port());
  RawSocket last(server.port());
  last.send(kGet);
  crowd.clear();
  std::string rest;
  BOOST_TEST(read_response(last, rest).status != 0);
}

// Out of file descriptors: nothing is accepted for a while, and then it is.
BOOST_AUTO_TEST_CASE(accepting_outlives_a_lack_of_descriptors) {
  TestServer server(make_paged_fake_model());
  RawSocket early(server.port());
  early.send(kGet);
  std::string early_rest;
  BOOST_TEST(read_response(early, early_rest).status == 200);

  rlimit before{};
  BOOST_REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  std::vector<RawSocket> waiting;
  server.on_loop([&] {
    for (int i = 0; i < 10; ++i) waiting.emplace_back(server.port());
    rlimit none = before;
    none.rlim_cur = 3;  // Every number below is in use.
    BOOST_REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
  });
  // Those who are in go on being served.
  for (int i = 0; i < 10; ++i) {
    early.send(kGet);
    BOOST_TEST(read_response(early, early_rest).status == 200);
  }
  BOOST_REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
  for (RawSocket& socket : waiting) {
    socket.send(kGet);
    std::string rest;
    BOOST_TEST(read_response(socket, rest).status == 200);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace tickertape::test
