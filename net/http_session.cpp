// HttpSession: one coroutine per connection; read a request, answer it, again.
#include "net/http_session.hpp"

#include <array>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <boost/beast/websocket/rfc6455.hpp>
#include <exception>
#include <optional>
#include <string>
#include <utility>

#include "net/deadline.hpp"
#include "net/ws_session.hpp"

namespace tickertape::net {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using tcp = asio::ip::tcp;
using Parser = http::request_parser<http::string_body>;

constexpr std::uint32_t kMaxHeaderBytes = 16U << 10;
/// After an early answer so much of the client's rest is read, for so long, that it sees the answer
/// and not a reset.
constexpr std::size_t kMaxLingerBytes = 64U << 20;
constexpr double kLinger_s = 2;

std::string to_string(beast::string_view text) {
  return {text.data(), text.size()};
}

/// The status that a failed read is answered with; 0: the connection just ends.
int status_of(error_code error) {
  if (error == http::error::end_of_stream || error == http::error::partial_message) return 0;
  if (error == http::error::header_limit || error == http::error::buffer_overflow) return 431;
  if (error == http::error::body_limit) return 413;
  return error.category() == make_error_code(http::error::end_of_stream).category() ? 400 : 0;
}

HttpReply reply_to_bad_request(int status) {
  switch (status) {
    case 408:
      return error_reply(408, "the request did not come in time", {}, "request_timeout");
    case 413:
      return error_reply(413, "the body is too long", {}, "body_too_long");
    case 431:
      return error_reply(431, "the header is too long", {}, "header_too_long");
    default:
      return error_reply(400, "this is not a valid HTTP/1.1 request", {}, "bad_request");
  }
}

UpgradeRequest upgrade_of(const Parser::value_type& message, HttpRequest request) {
  UpgradeRequest out;
  out.http = std::move(request);
  out.key = to_string(message[http::field::sec_websocket_key]);
  out.version = to_string(message[http::field::sec_websocket_version]);
  out.origin = to_string(message[http::field::origin]);
  const auto range = message.equal_range(http::field::sec_websocket_protocol);
  for (auto field = range.first; field != range.second; ++field) {
    if (!out.protocols.empty()) out.protocols += ',';
    out.protocols += to_string(field->value());
  }
  return out;
}

HttpRequest request_of(const Parser::value_type& message) {
  HttpRequest out;
  out.method = to_string(message.method_string());
  out.target = to_string(message.target());
  const std::size_t hosts = message.count(http::field::host);
  if (hosts > 0) out.host = to_string(message[http::field::host]);
  out.many_hosts = hosts > 1;
  out.may_lack_host = message.version() == 10;
  return out;
}

class HttpSession final : public Connection {
 public:
  HttpSession(std::shared_ptr<ServerState> state, tcp::socket socket, bool full)
      : Connection(std::move(state)), socket_(std::move(socket)), deadline_(socket_), full_(full) {}

  static asio::awaitable<void> serve(std::shared_ptr<HttpSession> self);

  void drain() override {}  // /ready and the like are answered to the end.
  void end_generations() override {}
  void stop() override {
    error_code ignored;
    socket_.close(ignored);
  }

 private:
  asio::awaitable<bool> serve_one(bool first);
  asio::awaitable<error_code> read_request(bool first);
  asio::awaitable<error_code> read_body();
  asio::awaitable<bool> reply(HttpReply reply, bool keep_alive);
  asio::awaitable<void> linger();
  bool upgrade(HttpRequest request, HttpReply& refusal);
  [[nodiscard]] RouteContext context() const;

  tcp::socket socket_;
  Deadline deadline_;
  bool full_;
  bool begun_ = false;  ///< Bytes of the present request have arrived.
  beast::flat_buffer buffer_{kMaxHeaderBytes + (64U << 10)};
  std::optional<Parser> parser_;
};

RouteContext HttpSession::context() const {
  RouteContext out = state_->context();
  out.full = full_;
  return out;
}

asio::awaitable<void> HttpSession::serve(std::shared_ptr<HttpSession> self) {
  bool first = true;
  while (co_await self->serve_one(first)) first = false;
  self->deadline_.stop();
  self->stop();
}

/// Reads and answers one request; false ends the connection.
asio::awaitable<bool> HttpSession::serve_one(bool first) {
  const error_code error = co_await read_request(first);
  if (state_->engine == nullptr) co_return false;
  if (error) {
    const bool late = deadline_.expired();
    const int status = late && begun_ ? 408 : late ? 0 : status_of(error);
    if (status == 0) co_return false;
    HttpReply answer = reply_to_bad_request(status);
    co_await reply(std::move(answer), false);
    co_await linger();
    co_return false;
  }
  HttpRequest request = request_of(parser_->get());
  HttpReply answer;
  if (path_of(request.target) == kStreamPath && beast::websocket::is_upgrade(parser_->get())) {
    if (upgrade(std::move(request), answer)) co_return false;
  } else {
    answer = net::answer(request, context());
  }
  const bool keep_alive = parser_->get().keep_alive() && !full_;
  co_return co_await reply(std::move(answer), keep_alive);
}

asio::awaitable<error_code> HttpSession::read_request(bool first) {
  const ServerOptions& options = state_->options;
  error_code error;
  parser_.emplace();
  parser_->header_limit(kMaxHeaderBytes);
  parser_->body_limit(options.max_body);
  begun_ = buffer_.size() > 0;
  if (!begun_) {
    const bool unlimited = !first && options.idle_timeout_s <= 0;
    if (unlimited) {
      deadline_.stop();
    } else {
      deadline_.start(weak_from_this(),
                      first ? options.handshake_timeout_s : options.idle_timeout_s);
    }
    co_await socket_.async_wait(tcp::socket::wait_read,
                                asio::redirect_error(asio::use_awaitable, error));
    if (error) co_return error;
  }
  begun_ = true;
  // One limit for all of a request, however slowly it comes.
  deadline_.start(weak_from_this(), options.handshake_timeout_s);
  co_await http::async_read_header(socket_, buffer_, *parser_,
                                   asio::redirect_error(asio::use_awaitable, error));
  if (!error && !parser_->is_done()) error = co_await read_body();
  co_return error;
}

asio::awaitable<error_code> HttpSession::read_body() {
  error_code error;
  if (beast::iequals(parser_->get()[http::field::expect], "100-continue")) {
    static constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
    co_await asio::async_write(socket_, asio::buffer(kContinue.data(), kContinue.size()),
                               asio::redirect_error(asio::use_awaitable, error));
    if (error) co_return error;
  }
  co_await http::async_read(socket_, buffer_, *parser_,
                            asio::redirect_error(asio::use_awaitable, error));
  co_return error;
}

/// Writes the reply; true if the connection can serve another request.
asio::awaitable<bool> HttpSession::reply(HttpReply reply, bool keep_alive) {
  http::response<http::string_body> response(static_cast<http::status>(reply.status), 11);
  response.set(http::field::server, "tickertape");
  response.set(http::field::content_type, reply.content_type);
  response.set(http::field::cache_control, "no-cache");
  response.set("X-Content-Type-Options", "nosniff");
  for (const auto& [name, value] : reply.headers) response.set(name, value);
  response.keep_alive(keep_alive);
  response.content_length(reply.body.size());
  const bool head = parser_->is_header_done() && parser_->get().method() == http::verb::head;
  if (!head) response.body() = std::move(reply.body);
  deadline_.start(weak_from_this(), state_->options.handshake_timeout_s);
  error_code error;
  co_await http::async_write(socket_, response, asio::redirect_error(asio::use_awaitable, error));
  co_return keep_alive && !error;
}

/// Ends our side and reads what the client still sends, within limits.
asio::awaitable<void> HttpSession::linger() {
  error_code error;
  socket_.shutdown(tcp::socket::shutdown_send, error);
  deadline_.start(weak_from_this(), kLinger_s);
  std::array<char, 4096> scrap{};
  std::size_t total = 0;
  while (!error && total < kMaxLingerBytes) {
    total += co_await socket_.async_read_some(asio::buffer(scrap),
                                              asio::redirect_error(asio::use_awaitable, error));
  }
}

/// True: the socket belongs to a WebSocket session now. False: `refusal` says why not.
bool HttpSession::upgrade(HttpRequest request, HttpReply& refusal) {
  const UpgradeRequest wanted = upgrade_of(parser_->get(), std::move(request));
  refusal = check_upgrade(wanted, context(), state_->options.allow_origins);
  if (refusal.status == 0 && buffer_.size() > 0) {
    refusal = error_reply(400, "nothing may follow an upgrade before it is answered");
  }
  if (refusal.status != 0) return false;
  deadline_.stop();
  start_websocket(state_, std::move(socket_), wanted);
  return true;
}

}  // namespace

void start_http(std::shared_ptr<ServerState> state, tcp::socket socket, bool full) {
  const auto executor = state->executor;
  auto session = std::make_shared<HttpSession>(std::move(state), std::move(socket), full);
  asio::co_spawn(executor, HttpSession::serve(session), [session](std::exception_ptr error) {
    if (error) session->stop();  // A fault of this connection costs this connection.
  });
}

}  // namespace tickertape::net
