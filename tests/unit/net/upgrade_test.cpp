// The checks before a connection becomes a WebSocket.
#include "net/upgrade.hpp"

#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

namespace tickertape::net {
namespace {

struct Fixture {
  Fixture() {
    request.http.host = "localhost:8000";
    request.key = "dGhlIHNhbXBsZSBub25jZQ==";
    request.version = "13";
  }
  [[nodiscard]] int status() const { return check_upgrade(request, context, origins).status; }

  UpgradeRequest request;
  RouteContext context;
  std::vector<std::string> origins;
};

BOOST_FIXTURE_TEST_SUITE(upgrade, Fixture)

BOOST_AUTO_TEST_CASE(a_plain_client_is_taken) {
  BOOST_TEST(status() == 0);
}

BOOST_AUTO_TEST_CASE(subprotocols) {
  request.protocols = "chat , tickertape.v1,tickertape.key.abc";
  BOOST_TEST(status() == 0);
  BOOST_TEST(offers_protocol(request.protocols, "chat"));
  BOOST_TEST(!offers_protocol(request.protocols, "tickertape"));
  request.protocols = "tickertape.v2, chat";
  BOOST_TEST(status() == 400);
}

BOOST_AUTO_TEST_CASE(origins_are_checked) {
  request.origin = "http://localhost:8000";
  BOOST_TEST(status() == 0);
  request.origin = "http://evil.example";
  BOOST_TEST(status() == 403);
  origins = {"http://evil.example"};
  BOOST_TEST(status() == 0);
}

BOOST_AUTO_TEST_CASE(hosts_are_checked) {
  request.http.host = "evil.example";
  BOOST_TEST(status() == 403);
  context.loopback = false;
  BOOST_TEST(status() == 0);
  request.http.many_hosts = true;
  BOOST_TEST(status() == 400);
}

BOOST_AUTO_TEST_CASE(the_handshake_is_checked) {
  request.version = "8";
  const HttpReply reply = check_upgrade(request, context, origins);
  BOOST_TEST(reply.status == 426);
  BOOST_REQUIRE(!reply.headers.empty());
  BOOST_TEST(reply.headers[0].second == "13");
  request.version = "13";
  request.key = "short";
  BOOST_TEST(status() == 400);
}

BOOST_AUTO_TEST_CASE(a_draining_or_full_server_takes_nobody) {
  context.draining = true;
  BOOST_TEST(status() == 503);
  context.draining = false;
  context.full = true;
  BOOST_TEST(status() == 503);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace tickertape::net
