// Host and Origin checks.
#include "net/host_check.hpp"

#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

namespace tickertape::net {
namespace {

BOOST_AUTO_TEST_SUITE(host_check)

BOOST_AUTO_TEST_CASE(loopback_names) {
  for (const char* host : {"localhost", "LOCALHOST:8000", "localhost.", "127.0.0.1", "127.0.0.1:80",
                           "127.9.9.9", "[::1]", "[::1]:8000"}) {
    BOOST_TEST(is_loopback_host(host), host);
  }
  for (const char* host : {"", "example.com", "localhost.example.com", "127.0.0.1.example.com",
                           "10.0.0.1", "[::2]", "[::1", ":8000", "0x7f.1"}) {
    BOOST_TEST(!is_loopback_host(host), host);
  }
}

BOOST_AUTO_TEST_CASE(origins) {
  const std::vector<std::string> allowed = {"https://Chat.example"};
  BOOST_TEST(is_allowed_origin("http://localhost:8000", "localhost:8000", {}));
  BOOST_TEST(is_allowed_origin("https://LOCALHOST:8000", "localhost:8000", {}));
  BOOST_TEST(!is_allowed_origin("http://localhost:9000", "localhost:8000", {}));
  BOOST_TEST(!is_allowed_origin("http://evil.example", "localhost:8000", {}));
  BOOST_TEST(!is_allowed_origin("null", "localhost:8000", allowed));
  BOOST_TEST(is_allowed_origin("https://chat.example", "localhost:8000", allowed));
  BOOST_TEST(is_allowed_origin("null", "localhost", std::vector<std::string>{"*"}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace tickertape::net
