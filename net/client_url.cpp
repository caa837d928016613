// ClientUrl: scheme, authority and path, each refused with a word on what was expected.
#include "net/client_url.hpp"

#include <boost/asio/ip/address_v6.hpp>
#include <charconv>

#include <tickertape/errors.hpp>

namespace tickertape::net {
namespace {

constexpr std::string_view kDefaultPath = "/v1/stream";
constexpr std::string_view kDefaultPort = "80";

[[noreturn]] void refuse(std::string_view url, std::string_view what,
                         Errc code = Errc::invalid_request) {
  throw Error(ErrorInfo{code, "url \"" + std::string(url) + "\": " + std::string(what), "url", 0});
}

void check_port(std::string_view url, std::string_view port) {
  unsigned number = 0;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
  const bool whole = error == std::errc() && end == port.data() + port.size();
  if (!whole || number == 0 || number > 65535) {
    refuse(url, "the port must be a number from 1 to 65535");
  }
}

void check_host(std::string_view url, std::string_view host, bool in_brackets) {
  if (host.empty()) refuse(url, "the host is missing; expected ws://host:port");
  if (in_brackets) {
    error_code error;
    boost::asio::ip::make_address_v6(std::string(host), error);
    if (error) refuse(url, "what stands in brackets must be an IPv6 address");
  } else if (host.find_first_of(":[]%") != std::string_view::npos) {
    refuse(url, "an IPv6 address must stand in brackets, as in ws://[::1]:8000");
  }
}

/// Everything behind the scheme.
std::string_view rest_of(std::string_view url) {
  for (const char c : url) {
    if (static_cast<unsigned char>(c) <= ' ' || c == '\x7F') {
      refuse({}, "it holds a space or a control character");
    }
  }
  const auto end = url.find("://");
  if (end == std::string_view::npos) refuse(url, "the scheme is missing; expected ws://host:port");
  const std::string_view scheme = url.substr(0, end);
  if (scheme == "wss" || scheme == "https") {
    refuse(url, "TLS is not supported by this version; use ws://", Errc::not_supported);
  }
  if (scheme != "ws" && scheme != "http") refuse(url, "the scheme must be ws");
  return url.substr(end + 3);
}

}  // namespace

ClientUrl parse_client_url(std::string_view url) {
  std::string_view rest = rest_of(url);
  if (rest.find('#') != std::string_view::npos) refuse(url, "a fragment (#) means nothing here");
  const auto path = rest.find_first_of("/?");
  std::string_view authority = rest.substr(0, path);
  if (authority.find('@') != std::string_view::npos) {
    refuse(url, "user names are not used; give a key as api_key");
  }
  ClientUrl out;
  const bool in_brackets = authority.starts_with('[');
  const auto bracket = in_brackets ? authority.find(']') : std::string_view::npos;
  if (in_brackets && bracket == std::string_view::npos) refuse(url, "the bracket ] is missing");
  const auto colon = authority.find(':', in_brackets ? bracket : 0);
  std::string_view port = kDefaultPort;
  std::string_view host = authority.substr(0, colon);
  if (in_brackets) {
    const auto end = authority.substr(bracket + 1);
    if (!end.empty() && end.front() != ':') refuse(url, "after ] only :port may follow");
    host = authority.substr(1, bracket - 1);
  }
  // More than one colon, and no brackets: an address whose port cannot be told apart.
  if (!in_brackets && colon != authority.rfind(':')) host = authority;
  check_host(url, host, in_brackets);
  if (colon != std::string_view::npos) port = authority.substr(colon + 1);
  check_port(url, port);
  out.host = host;
  out.port = port;
  if (path != std::string_view::npos) out.target = rest.substr(path);
  if (out.target.starts_with('?')) out.target.insert(0, "/");
  if (out.target.empty() || out.target == "/") out.target = kDefaultPath;
  return out;
}

std::string ClientUrl::authority() const {
  const bool v6 = host.find(':') != std::string::npos;
  std::string out = v6 ? "[" + host + "]" : host;
  if (port != kDefaultPort) out += ":" + port;
  return out;
}

std::string ClientUrl::text() const {
  return "ws://" + authority() + target;
}

}  // namespace tickertape::net
