// The routes of HTTP: one table.
#include "net/http_routes.hpp"

#include <algorithm>
#include <iterator>

#include "net/host_check.hpp"
#include "net/json_object.hpp"
#include "net/page.hpp"

namespace tickertape::net {
namespace {

HttpReply json_reply(int status, const JsonObject& body) {
  HttpReply reply;
  reply.status = status;
  reply.content_type = "application/json";
  reply.body = body.text();
  return reply;
}

HttpReply health(const RouteContext&) {
  return json_reply(200, JsonObject().add("status", "ok"));
}

HttpReply ready(const RouteContext& context) {
  const bool draining = context.draining || context.stats.draining;
  const bool is_ready = !draining && context.stats.lane_alive;
  return json_reply(is_ready ? 200 : 503, JsonObject().add("status", is_ready   ? "ready"
                                                                     : draining ? "draining"
                                                                                : "stalled"));
}

HttpReply version(const RouteContext&) {
  return json_reply(200, JsonObject().add("version", TICKERTAPE_VERSION));
}

HttpReply models(const RouteContext& context) {
  JsonObject model;
  model.add("id", context.model_name);
  model.add("object", "model");
  model.add("created", context.started_s);
  model.add("owned_by", "tickertape");
  model.add("max_model_len", context.stats.max_model_len);
  JsonObject body;
  body.add("object", "list");
  body.add_json("data", "[" + model.text() + "]");
  return json_reply(200, body);
}

HttpReply metrics(const RouteContext& context) {
  HttpReply reply;
  reply.content_type = "text/plain; version=0.0.4; charset=utf-8";
  ServerGauges gauges = context.gauges;
  gauges.open_fds = count_open_fds();
  reply.body = metrics_page(context.stats, gauges, context.model_name);
  return reply;
}

HttpReply page(const RouteContext&) {
  HttpReply reply;
  reply.content_type = "text/html; charset=utf-8";
  reply.body = kPageHtml;
  reply.headers.emplace_back(
      "Content-Security-Policy",
      "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
      "connect-src 'self' ws: wss:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
  return reply;
}

HttpReply stream_without_upgrade(const RouteContext&) {
  HttpReply reply = error_reply(426, "this route speaks WebSocket only", {}, "upgrade_required");
  reply.headers.emplace_back("Upgrade", "websocket");
  return reply;
}

struct Route {
  std::string_view path;
  HttpReply (*get)(const RouteContext&);
};

constexpr Route kRoutes[] = {
    {"/", page},
    {"/health", health},
    {"/ready", ready},
    {"/version", version},
    {"/v1/models", models},
    {"/metrics", metrics},
    {kStreamPath, stream_without_upgrade},
};

/// Routes of the interface that a later version serves: said plainly, for clients that try them.
constexpr std::string_view kUnservedPaths[] = {"/v1/completions", "/v1/chat/completions",
                                               "/v1/embeddings",  "/tokenize",
                                               "/detokenize",     "/debug/state"};

}  // namespace

std::string_view path_of(std::string_view target) noexcept {
  return target.substr(0, target.find('?'));
}

HttpReply error_reply(int status, std::string_view message, std::string_view param,
                      std::string_view code) {
  JsonObject error;
  error.add("message", message);
  error.add("type", status == 429  ? "rate_limit_error"
                    : status < 500 ? "invalid_request_error"
                                   : "server_error");
  error.add_or_null("param", param);
  error.add_or_null("code", code);
  return json_reply(status, JsonObject().add("error", error));
}

HttpReply check_access(const HttpRequest& request, const RouteContext& context) {
  if (context.full) {
    HttpReply reply = error_reply(503, "too many connections", {}, "too_many_connections");
    reply.headers.emplace_back("Retry-After", "1");
    return reply;
  }
  if (request.many_hosts || (!request.host && !request.may_lack_host)) {
    return error_reply(400, "a request must have one Host field", "Host");
  }
  if (context.loopback && request.host && !is_loopback_host(*request.host)) {
    return error_reply(403, "this server listens on loopback only: Host must be a loopback name",
                       "Host", "forbidden_host");
  }
  HttpReply fine;
  fine.status = 0;
  return fine;
}

HttpReply answer(const HttpRequest& request, const RouteContext& context) {
  HttpReply refusal = check_access(request, context);
  if (refusal.status != 0) return refusal;
  const std::string_view path = path_of(request.target);
  const auto route = std::find_if(std::begin(kRoutes), std::end(kRoutes),
                                  [&](const Route& entry) { return entry.path == path; });
  if (route != std::end(kRoutes)) {
    if (request.method == "GET" || request.method == "HEAD") return route->get(context);
    HttpReply reply = error_reply(405, "this route answers GET only", {}, "method_not_allowed");
    reply.headers.emplace_back("Allow", "GET, HEAD");
    return reply;
  }
  if (std::find(std::begin(kUnservedPaths), std::end(kUnservedPaths), path) !=
      std::end(kUnservedPaths)) {
    return error_reply(404,
                       "this route is not served by this version; generate over GET /v1/stream", {},
                       "route_not_served");
  }
  return error_reply(404, "there is no such route", {}, "route_not_found");
}

}  // namespace tickertape::net
