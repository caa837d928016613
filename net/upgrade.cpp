// UpgradeRequest: the checks before a connection becomes a WebSocket (RFC 6455, section 4.2).
#include "net/upgrade.hpp"

#include "net/host_check.hpp"

namespace tickertape::net {
namespace {

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// 16 bytes in base64: 24 characters with two '=' at the end.
bool is_key(std::string_view key) {
  return key.size() == 24 && key.ends_with("==");
}

}  // namespace

bool offers_protocol(std::string_view protocols, std::string_view name) {
  while (!protocols.empty()) {
    const auto end = protocols.find(',');
    if (trim(protocols.substr(0, end)) == name) return true;
    if (end == std::string_view::npos) break;
    protocols.remove_prefix(end + 1);
  }
  return false;
}

HttpReply check_upgrade(const UpgradeRequest& request, const RouteContext& context,
                        std::span<const std::string> allow_origins) {
  HttpReply refusal = check_access(request.http, context);
  if (refusal.status != 0) return refusal;
  if (context.draining) return error_reply(503, "the server is shutting down", {}, "draining");
  if (request.version != "13") {
    HttpReply reply = error_reply(426, "WebSocket version 13 is served", "Sec-WebSocket-Version");
    reply.headers.emplace_back("Sec-WebSocket-Version", "13");
    return reply;
  }
  if (!is_key(request.key)) {
    return error_reply(400, "Sec-WebSocket-Key must be 16 bytes in base64", "Sec-WebSocket-Key");
  }
  if (!request.origin.empty() &&
      !is_allowed_origin(request.origin, request.http.host.value_or(""), allow_origins)) {
    return error_reply(403, "this origin may not open a WebSocket here (--allow-origin)", "Origin",
                       "forbidden_origin");
  }
  if (!request.protocols.empty() && !offers_protocol(request.protocols, kSubprotocol)) {
    return error_reply(400, "the only subprotocol here is tickertape.v1", "Sec-WebSocket-Protocol");
  }
  HttpReply fine;
  fine.status = 0;
  return fine;
}

}  // namespace tickertape::net
