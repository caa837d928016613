// ClientSession: one read always armed, one writer, and a limit in time for the way to the first
// message.
#include "net/client_session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/field.hpp>
#include <boost/beast/websocket/stream.hpp>
#include <chrono>
#include <deque>
#include <nlohmann/json.hpp>
#include <utility>

#include "net/deadline.hpp"
#include "net/upgrade.hpp"

namespace tickertape::net {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
namespace websocket = boost::beast::websocket;
using tcp = asio::ip::tcp;

/// The message of an OpenAI error object, or nothing.
std::string message_of(const std::string& body) {
  const auto json = nlohmann::json::parse(body, nullptr, false);
  if (!json.is_object() || !json.contains("error") || !json["error"].is_object()) return {};
  const auto& message = json["error"]["message"];
  return message.is_string() ? message.get<std::string>() : std::string();
}

/// Handlers hold the session and run on its strand, which is the socket's executor.
class BeastSession final : public ClientSession, public std::enable_shared_from_this<BeastSession> {
 public:
  BeastSession(const asio::any_io_executor& strand, ClientUrl url, const ClientOptions& options,
               std::weak_ptr<SessionListener> listener)
      : url_(std::move(url)),
        options_(options),
        listener_(std::move(listener)),
        resolver_(strand),
        ws_(strand),
        timer_(strand) {}

  void start();
  void send(std::string text) override;
  std::size_t unsent_bytes() const noexcept override { return unsent_bytes_; }
  void close(std::uint16_t code, std::string_view reason) override;
  void stop() noexcept override;

 private:
  void resolved(error_code error, const tcp::resolver::results_type& found);
  void connected(error_code error);
  void configure();
  void handshaken(error_code error);
  void read();
  void received(error_code error);
  void write();
  void written(error_code error);
  void start_close();
  void limit(double seconds, const char* what);
  void end(error_code error, std::string why);
  [[nodiscard]] std::string why_lost(error_code error) const;

  template <class... Arguments>
  auto handler(void (BeastSession::*member)(Arguments...)) {
    return [self = shared_from_this(), member](Arguments... arguments, auto&&...) {
      ((*self).*member)(arguments...);
    };
  }

  const ClientUrl url_;
  const ClientOptions options_;
  std::weak_ptr<SessionListener> listener_;
  tcp::resolver resolver_;
  websocket::stream<tcp::socket> ws_;
  asio::steady_timer timer_;
  std::uint64_t timer_number_ = 0;
  websocket::response_type response_;
  beast::flat_buffer message_;
  std::deque<std::string> outgoing_;  ///< The first one is being written while writing_.
  std::size_t unsent_bytes_ = 0;
  websocket::close_reason close_reason_;
  bool open_ = false;
  bool heard_ = false;  ///< The first message has come.
  bool writing_ = false;
  bool closing_ = false;
  bool ended_ = false;
};

void BeastSession::start() {
  limit(options_.connect_timeout_s, "no answer");
  resolver_.async_resolve(
      url_.host, url_.port,
      [self = shared_from_this()](error_code error, const tcp::resolver::results_type& found) {
        self->resolved(error, found);
      });
}

void BeastSession::resolved(error_code error, const tcp::resolver::results_type& found) {
  if (ended_) return;
  if (error) return end(error, "cannot resolve \"" + url_.host + "\": " + error.message());
  asio::async_connect(ws_.next_layer(), found, handler(&BeastSession::connected));
}

void BeastSession::connected(error_code error) {
  if (ended_) return;
  if (error) return end(error, "cannot connect: " + error.message());
  configure();
  ws_.async_handshake(response_, url_.authority(), url_.target, handler(&BeastSession::handshaken));
}

void BeastSession::configure() {
  error_code ignored;
  ws_.next_layer().set_option(tcp::no_delay(true), ignored);
  websocket::stream_base::timeout timeout{};
  // Our own timer limits the way to hello; this one still holds when a server begins a close.
  timeout.handshake_timeout =
      to_duration(std::max(options_.connect_timeout_s, options_.close_timeout_s));
  timeout.idle_timeout = websocket::stream_base::none();
  if (options_.idle_timeout_s > 0) timeout.idle_timeout = to_duration(options_.idle_timeout_s);
  timeout.keep_alive_pings = true;
  ws_.set_option(timeout);
  ws_.set_option(
      websocket::stream_base::decorator([key = options_.api_key](websocket::request_type& request) {
        request.set(http::field::user_agent, "tickertape");
        request.set(http::field::sec_websocket_protocol, kSubprotocol);
        if (!key.empty()) request.set(http::field::authorization, "Bearer " + key);
      }));
  ws_.read_message_max(options_.max_message);
  ws_.auto_fragment(false);
  ws_.text(true);
}

void BeastSession::handshaken(error_code error) {
  if (ended_) return;
  if (error == websocket::error::upgrade_declined) {
    const std::string message = message_of(response_.body());
    return end({}, "refused with HTTP status " + std::to_string(response_.result_int()) +
                       (message.empty() ? "" : ": " + message));
  }
  if (error) return end({}, "the WebSocket handshake failed: " + error.message());
  open_ = true;
  write();
  read();
}

void BeastSession::read() {
  ws_.async_read(message_, handler(&BeastSession::received));
}

void BeastSession::received(error_code error) {
  if (ended_) return;
  if (error) return end({}, why_lost(error));
  if (!heard_ && !closing_) {
    heard_ = true;
    ++timer_number_;
    timer_.cancel();
  }
  const auto listener = listener_.lock();
  if (listener && ws_.got_text()) {
    const auto data = message_.cdata();
    listener->session_text({static_cast<const char*>(data.data()), data.size()});
    if (ended_) return;
  }
  constexpr std::size_t kKeptBytes = 1U << 16;
  if (message_.capacity() > kKeptBytes) {
    message_ = beast::flat_buffer();  // A long message's memory is not kept.
  } else {
    message_.clear();
  }
  read();
}

std::string BeastSession::why_lost(error_code error) const {
  if (error == websocket::error::closed) {
    const std::string reason(ws_.reason().reason.data(), ws_.reason().reason.size());
    return "the server closed the connection with code " + std::to_string(ws_.reason().code) +
           (reason.empty() ? "" : ": " + reason);
  }
  if (error == asio::error::eof) return "the server ended the connection without a close";
  if (error == beast::error::timeout) return "nothing came from the server within idle_timeout_s";
  if (error == websocket::error::message_too_big) {
    return "the server sent a message of more than max_message bytes";
  }
  return "the connection failed: " + error.message();
}

void BeastSession::send(std::string text) {
  if (ended_ || closing_) return;
  unsent_bytes_ += text.size();
  outgoing_.push_back(std::move(text));
  write();
}

void BeastSession::write() {
  if (!open_ || writing_ || ended_) return;
  if (outgoing_.empty()) {
    if (closing_) start_close();
    return;
  }
  writing_ = true;
  ws_.async_write(asio::buffer(outgoing_.front()), handler(&BeastSession::written));
}

void BeastSession::written(error_code error) {
  writing_ = false;
  // The read tells why: a close of the server makes writes fail too.
  if (error || ended_) return;
  unsent_bytes_ -= outgoing_.front().size();
  outgoing_.pop_front();
  if (const auto listener = listener_.lock()) listener->session_written();
  write();
}

void BeastSession::close(std::uint16_t code, std::string_view reason) {
  listener_.reset();
  if (ended_ || closing_) return;
  closing_ = true;
  if (!open_) return stop();
  close_reason_ = websocket::close_reason(static_cast<websocket::close_code>(code),
                                          beast::string_view(reason.data(), reason.size()));
  limit(options_.close_timeout_s, "no close");
  write();
}

void BeastSession::start_close() {
  writing_ = true;
  ws_.async_close(close_reason_, [self = shared_from_this()](error_code) { self->stop(); });
}

void BeastSession::stop() noexcept {
  listener_.reset();
  if (std::exchange(ended_, true)) return;
  try {
    timer_.cancel();
    resolver_.cancel();
  } catch (...) {  // They end by themselves, and find that it is over.
  }
  error_code ignored;
  ws_.next_layer().close(ignored);
}

void BeastSession::limit(double seconds, const char* what) {
  const std::uint64_t number = ++timer_number_;
  timer_.expires_after(to_duration(seconds));
  timer_.async_wait([weak = weak_from_this(), number, seconds, what](error_code error) {
    const auto self = weak.lock();
    if (!self || error || number != self->timer_number_) return;
    self->end(asio::error::timed_out, fmt::format("{} within {} s", what, seconds));
  });
}

void BeastSession::end(error_code error, std::string why) {
  const auto listener = listener_.lock();
  stop();
  if (!error) error = make_error_code(Errc::connection_lost);
  if (listener) listener->session_ended(error, std::move(why));
}

}  // namespace

std::shared_ptr<ClientSession> open_client_session(const asio::any_io_executor& strand,
                                                   const ClientUrl& url,
                                                   const ClientOptions& options,
                                                   std::weak_ptr<SessionListener> listener) {
  auto session = std::make_shared<BeastSession>(strand, url, options, std::move(listener));
  session->start();
  return session;
}

}  // namespace tickertape::net
