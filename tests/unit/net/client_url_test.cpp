// ClientUrl: what is understood, and what is refused how.
#include "net/client_url.hpp"

#include <boost/test/unit_test.hpp>
#include <string>

#include <tickertape/errors.hpp>

namespace tickertape::net {
namespace {

std::string parts(const char* url) {
  const ClientUrl read = parse_client_url(url);
  return read.host + " " + read.port + " " + read.target + " " + read.authority();
}

BOOST_AUTO_TEST_SUITE(client_url)

BOOST_AUTO_TEST_CASE(host_port_and_path) {
  BOOST_TEST(parts("ws://localhost:8000/v1/stream") == "localhost 8000 /v1/stream localhost:8000");
  BOOST_TEST(parts("ws://localhost:8000") == "localhost 8000 /v1/stream localhost:8000");
  BOOST_TEST(parts("http://127.0.0.1:1/") == "127.0.0.1 1 /v1/stream 127.0.0.1:1");
  BOOST_TEST(parts("ws://example.org") == "example.org 80 /v1/stream example.org");
  BOOST_TEST(parts("ws://h:9/a/b?c=d") == "h 9 /a/b?c=d h:9");
  BOOST_TEST(parts("ws://h:9?c=d") == "h 9 /?c=d h:9");
  BOOST_TEST(parts("ws://[::1]:8000/x") == "::1 8000 /x [::1]:8000");
  BOOST_TEST(parts("ws://[2001:db8::1]") == "2001:db8::1 80 /v1/stream [2001:db8::1]");
  BOOST_TEST(parse_client_url("ws://[::1]:8000").text() == "ws://[::1]:8000/v1/stream");
}

BOOST_AUTO_TEST_CASE(what_is_wrong_is_said) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "scheme is missing"},
      {"localhost:8000", "scheme is missing"},
      {"ftp://h", "scheme must be ws"},
      {"ws://", "host is missing"},
      {"ws://:80", "host is missing"},
      {"ws://h:", "port must be"},
      {"ws://h:0", "port must be"},
      {"ws://h:65536", "port must be"},
      {"ws://h:8a", "port must be"},
      {"ws://::1:8000", "must stand in brackets"},
      {"ws://[::1", "bracket ] is missing"},
      {"ws://[::1]8000", "after ] only :port"},
      {"ws://[localhost]:1", "must be an IPv6 address"},
      {"ws://me:secret@h:1", "user names are not used"},
      {"ws://h/a#b", "fragment"},
      {"ws://h /", "space"},
      {"ws://h/\r\nX: y", "control character"}};
  for (const auto& [url, expected] : cases) {
    BOOST_CHECK_EXCEPTION(static_cast<void>(parse_client_url(url)), Error, [&](const Error& error) {
      BOOST_TEST_INFO(url << ": " << error.what());
      return error.info().code == Errc::invalid_request && error.info().param == "url" &&
             std::string(error.what()).find(expected) != std::string::npos;
    });
  }
  for (const char* url : {"wss://h:1/", "https://h"}) {
    BOOST_CHECK_EXCEPTION(static_cast<void>(parse_client_url(url)), Error, [](const Error& error) {
      return error.info().code == Errc::not_supported;
    });
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace tickertape::net
