// The routes of HTTP: statuses, bodies and error objects.
#include "net/http_routes.hpp"

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>
#include <string>

namespace tickertape::net {
namespace {

using Json = nlohmann::json;

struct Fixture {
  Fixture() {
    context.model_name = "m";
    context.stats.max_model_len = 384;
  }
  [[nodiscard]] HttpReply ask(const std::string& method, const std::string& target,
                              std::optional<std::string> host = "localhost") const {
    HttpRequest request;
    request.method = method;
    request.target = target;
    request.host = std::move(host);
    return answer(request, context);
  }

  RouteContext context;
};

void check_error(const HttpReply& reply, int status) {
  BOOST_TEST(reply.status == status);
  BOOST_TEST(reply.content_type == "application/json");
  const Json error = Json::parse(reply.body).at("error");
  BOOST_TEST(error.at("message").is_string());
  BOOST_TEST(error.at("type").is_string());
  BOOST_TEST((error.at("param").is_null() || error.at("param").is_string()));
  BOOST_TEST((error.at("code").is_null() || error.at("code").is_string()));
}

BOOST_FIXTURE_TEST_SUITE(http_routes, Fixture)

BOOST_AUTO_TEST_CASE(health_is_alive_whatever_happens) {
  context.draining = true;
  context.stats.lane_alive = false;
  BOOST_TEST(ask("GET", "/health").status == 200);
}

BOOST_AUTO_TEST_CASE(ready_says_why_not) {
  BOOST_TEST(ask("GET", "/ready").status == 200);
  context.stats.lane_alive = false;
  BOOST_TEST(ask("GET", "/ready").status == 503);
  BOOST_TEST(Json::parse(ask("GET", "/ready").body)["status"] == "stalled");
  context.stats.draining = true;
  BOOST_TEST(Json::parse(ask("GET", "/ready").body)["status"] == "draining");
}

BOOST_AUTO_TEST_CASE(models_lists_the_one) {
  const Json body = Json::parse(ask("GET", "/v1/models").body);
  BOOST_TEST(body["object"] == "list");
  BOOST_TEST(body["data"][0]["id"] == "m");
  BOOST_TEST(body["data"][0]["max_model_len"] == 384);
}

BOOST_AUTO_TEST_CASE(other_pages) {
  BOOST_TEST(Json::parse(ask("GET", "/version").body)["version"].is_string());
  BOOST_TEST(ask("GET", "/metrics").content_type.starts_with("text/plain; version=0.0.4"));
  BOOST_TEST(ask("GET", "/health?x=1").status == 200);
  const HttpReply page = ask("GET", "/");
  BOOST_TEST(page.content_type == "text/html; charset=utf-8");
  BOOST_TEST(page.body.find("/v1/stream") != std::string::npos);
  BOOST_TEST(page.body.find("https://") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(wrong_methods_and_routes) {
  check_error(ask("POST", "/health"), 405);
  BOOST_TEST(ask("POST", "/health").headers.at(0).second == "GET, HEAD");
  check_error(ask("GET", "/nowhere"), 404);
  check_error(ask("GET", "nonsense"), 404);
  check_error(ask("POST", "/v1/chat/completions"), 404);
  BOOST_TEST(ask("POST", "/v1/completions").body.find("not served by this version") !=
             std::string::npos);
  check_error(ask("GET", "/v1/stream"), 426);
}

BOOST_AUTO_TEST_CASE(hosts_on_loopback) {
  check_error(ask("GET", "/health", "evil.example"), 403);
  check_error(ask("GET", "/health", std::nullopt), 400);
  context.loopback = false;
  BOOST_TEST(ask("GET", "/health", "any.example").status == 200);
}

BOOST_AUTO_TEST_CASE(a_full_server_refuses_everything) {
  context.full = true;
  const HttpReply reply = ask("GET", "/health");
  check_error(reply, 503);
  BOOST_TEST(reply.headers.at(0).first == "Retry-After");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace tickertape::net
