// The routes of HTTP, as functions from a request to a reply.
#pragma once
#include <cstdint>
#include <string_view>

#include <tickertape/stats.hpp>

#include "net/http_message.hpp"
#include "net/metrics_page.hpp"

namespace tickertape::net {

/// What a reply may depend on, taken when the request is answered.
struct RouteContext {
  std::string_view model_name;
  EngineStats stats;
  ServerGauges gauges;
  std::int64_t started_s = 0;  ///< When the server started, seconds of Unix time.
  bool loopback = true;        ///< Bound to loopback: Host must be a loopback name.
  bool draining = false;
  bool full = false;  ///< Beyond max_connections: everything is refused.
};

inline constexpr std::string_view kStreamPath = "/v1/stream";

/// The path of a target: what stands before '?'.
[[nodiscard]] std::string_view path_of(std::string_view target) noexcept;

/// What is wrong with the connection or the Host field, before any route is looked at. An empty
/// reply (status 0) is nothing.
[[nodiscard]] HttpReply check_access(const HttpRequest& request, const RouteContext& context);

/// Answers any request but an upgrade to WebSocket. Never fails.
[[nodiscard]] HttpReply answer(const HttpRequest& request, const RouteContext& context);

}  // namespace tickertape::net
