// ClientUrl: where a client connects to.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace tickertape::net {

struct ClientUrl {
  std::string host;    ///< A name or an address, IPv6 without its brackets.
  std::string port;    ///< Decimal.
  std::string target;  ///< Path and query.

  /// As a Host field has it: brackets around IPv6, no port when it is 80.
  [[nodiscard]] std::string authority() const;
  /// "ws://host:port/path", for messages.
  [[nodiscard]] std::string text() const;
};

/// Reads ws://host[:port][/path] (RFC 3986, RFC 6455 section 3); http:// means the same. Without a
/// path it is /v1/stream. Throws Error(Errc::invalid_request) with what is wrong, or
/// Errc::not_supported for wss:// and https://.
[[nodiscard]] ClientUrl parse_client_url(std::string_view url);

}  // namespace tickertape::net
