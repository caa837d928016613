// UpgradeRequest: a request for a WebSocket, and whether it may have one.
#pragma once
#include <span>
#include <string>
#include <string_view>

#include "net/http_message.hpp"
#include "net/http_routes.hpp"

namespace tickertape::net {

inline constexpr std::string_view kSubprotocol = "tickertape.v1";

struct UpgradeRequest {
  HttpRequest http;
  std::string key;        ///< Sec-WebSocket-Key
  std::string version;    ///< Sec-WebSocket-Version
  std::string origin;     ///< Empty: no browser.
  std::string protocols;  ///< Sec-WebSocket-Protocol, all fields joined by ','; empty: none.
};

/// Is `name` among the comma-separated `protocols`?
[[nodiscard]] bool offers_protocol(std::string_view protocols, std::string_view name);

/// Why the upgrade is refused; status 0 means that it is not.
[[nodiscard]] HttpReply check_upgrade(const UpgradeRequest& request, const RouteContext& context,
                                      std::span<const std::string> allow_origins);

}  // namespace tickertape::net
