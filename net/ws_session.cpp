// WsSession: a WebSocket with one read always armed and one writer.
#include "net/ws_session.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/websocket/stream.hpp>
#include <chrono>
#include <functional>
#include <string>
#include <utility>

#include "net/deadline.hpp"
#include "net/multiplexer.hpp"

namespace tickertape::net {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
namespace websocket = boost::beast::websocket;
using tcp = asio::ip::tcp;

/// How long a close may take, waiting frames and the peer's answer included.
constexpr std::chrono::seconds kCloseTimeout{5};

/// A socket that tells when Beast gives the connection up. After a bad frame the read reports it
/// only once the peer has hung up as well, which may take for ever.
class WsSocket final : public tcp::socket {
 public:
  explicit WsSocket(tcp::socket&& socket) : tcp::socket(std::move(socket)) {}
  std::function<void()> on_teardown;
};

/// Found by Beast through the type of the socket.
template <class Handler>
void async_teardown(beast::role_type role, WsSocket& socket, Handler&& handler) {
  if (socket.on_teardown) socket.on_teardown();
  websocket::async_teardown(role, static_cast<tcp::socket&>(socket),
                            std::forward<Handler>(handler));
}

http::request<http::empty_body> handshake_request(const UpgradeRequest& request) {
  http::request<http::empty_body> out(http::verb::get, request.http.target, 11);
  out.set(http::field::host, request.http.host.value_or(""));
  out.set(http::field::connection, "Upgrade");
  out.set(http::field::upgrade, "websocket");
  out.set(http::field::sec_websocket_key, request.key);
  out.set(http::field::sec_websocket_version, request.version);
  return out;
}

std::string peer_address(const tcp::socket& socket) {
  error_code error;
  const auto endpoint = socket.remote_endpoint(error);
  return error ? std::string() : endpoint.address().to_string();
}

/// Handlers hold the session. Every one of them leaves by fail() when its operation failed, which
/// closes the socket, so that the other operations end as well.
class WsSession final : public Connection, private Transport {
 public:
  WsSession(std::shared_ptr<ServerState> state, tcp::socket socket)
      : Connection(state),
        mux_(std::make_shared<Multiplexer>(state, static_cast<Transport&>(*this),
                                           peer_address(socket))),
        ws_(std::move(socket)),
        close_timer_(state->executor) {
    ++state_->num_websockets;
  }

  ~WsSession() override {
    mux_->abandon();
    --state_->num_websockets;
  }

  void start(const UpgradeRequest& request);
  void drain() override { mux_->drain(); }
  void end_generations() override { mux_->end_generations(); }
  void stop() override { fail(); }

 private:
  void configure(bool has_protocol);
  void opened(error_code error);
  void ending();
  void read();
  void received(error_code error);
  void write();
  void written(error_code error);
  void limit_close();
  void start_close();
  void closed(error_code error);
  void fail();

  void frames_ready() override { write(); }
  void close(std::uint16_t code, std::string_view reason, bool flush) override;

  [[nodiscard]] std::shared_ptr<WsSession> self() {
    return std::static_pointer_cast<WsSession>(shared_from_this());
  }

  /// A handler on the server's executor that keeps the session and lets no exception out.
  template <class... Arguments>
  auto handler(void (WsSession::*member)(Arguments...)) {
    return asio::bind_executor(state_->executor,
                               [session = self(), member](Arguments... arguments, auto&&...) {
                                 try {
                                   ((*session).*member)(arguments...);
                                 } catch (...) {
                                   session->fail();
                                 }
                               });
  }

  std::shared_ptr<Multiplexer> mux_;
  websocket::stream<WsSocket> ws_;
  asio::steady_timer close_timer_;
  beast::flat_buffer message_;
  OutgoingFrame writing_frame_;
  websocket::close_reason reason_;
  bool open_ = false;
  bool writing_ = false;
  bool closing_ = false;        ///< Ends once what is to be written is written.
  bool read_on_ = true;         ///< What the client sends still matters.
  bool close_started_ = false;  ///< The close frame is on its way.
  bool failed_ = false;
};

void WsSession::configure(bool has_protocol) {
  websocket::stream_base::timeout timeout{};
  timeout.handshake_timeout = kCloseTimeout;  // Beast uses it for both ends of a connection.
  const double idle_s = state_->options.idle_timeout_s;
  timeout.idle_timeout = websocket::stream_base::none();
  if (idle_s > 0) timeout.idle_timeout = to_duration(idle_s);
  timeout.keep_alive_pings = true;
  ws_.set_option(timeout);
  ws_.set_option(
      websocket::stream_base::decorator([has_protocol](websocket::response_type& response) {
        response.set(http::field::server, "tickertape");
        if (has_protocol) response.set(http::field::sec_websocket_protocol, kSubprotocol);
      }));
  ws_.read_message_max(state_->options.max_body);
  ws_.auto_fragment(false);
  ws_.text(true);
  const auto ends = [weak = weak_from_this()] {
    if (const auto connection = weak.lock()) static_cast<WsSession&>(*connection).ending();
  };
  ws_.next_layer().on_teardown = ends;
  ws_.control_callback([ends](websocket::frame_type kind, beast::string_view) {
    if (kind == websocket::frame_type::close) ends();
  });
}

/// The generations end when a close or a bad frame arrives, not when it was answered.
void WsSession::ending() {
  mux_->abandon();
  if (!closing_) limit_close();
}

void WsSession::start(const UpgradeRequest& request) {
  configure(offers_protocol(request.protocols, kSubprotocol));
  ws_.async_accept(handshake_request(request), handler(&WsSession::opened));
}

void WsSession::opened(error_code error) {
  if (error) return fail();
  open_ = true;
  mux_->open();
  if (state_->draining) mux_->drain();
  read();
}

void WsSession::read() {
  ws_.async_read(message_, handler(&WsSession::received));
}

void WsSession::received(error_code error) {
  if (error) return fail();
  // While generations run to their ends the read stays armed: it tells that the client is gone.
  if (!closing_) {
    if (!ws_.got_text()) {
      mux_->abandon();
      close(websocket::close_code::unknown_data, "frames are text", false);
    } else {
      const auto data = message_.cdata();
      mux_->on_text({static_cast<const char*>(data.data()), data.size()});
    }
  }
  if (message_.capacity() > 1U << 16) {
    message_ = beast::flat_buffer();  // A long message's memory is not kept.
  } else {
    message_.clear();
  }
  if (read_on_ && !close_started_ && !failed_) read();
}

void WsSession::write() {
  if (!open_ || writing_ || close_started_ || failed_) return;
  if (!mux_->has_frame()) {
    if (closing_) start_close();
    return;
  }
  writing_ = true;
  writing_frame_ = mux_->take_frame();
  ws_.async_write(asio::buffer(writing_frame_.text), handler(&WsSession::written));
}

void WsSession::written(error_code error) {
  writing_ = false;
  if (error) return fail();
  const OutgoingFrame frame = std::move(writing_frame_);
  mux_->written(frame);
  write();
}

void WsSession::close(std::uint16_t code, std::string_view reason, bool flush) {
  if (closing_ || failed_) return;
  closing_ = true;
  reason_ = websocket::close_reason(static_cast<websocket::close_code>(code),
                                    beast::string_view(reason.data(), reason.size()));
  read_on_ = flush;
  if (!flush) mux_->abandon();
  limit_close();
  write();
}

/// A peer that neither answers nor hangs up is cut.
void WsSession::limit_close() {
  close_timer_.expires_after(kCloseTimeout);
  close_timer_.async_wait(
      asio::bind_executor(state_->executor, [weak = weak_from_this()](error_code error) {
        const auto connection = weak.lock();
        if (!error && connection) connection->stop();
      }));
}

void WsSession::start_close() {
  close_started_ = true;
  ws_.async_close(reason_, handler(&WsSession::closed));
}

void WsSession::closed(error_code) {
  fail();
}

void WsSession::fail() {
  if (failed_) return;
  failed_ = true;
  mux_->abandon();
  close_timer_.cancel();
  error_code ignored;
  beast::get_lowest_layer(ws_).close(ignored);
}

}  // namespace

void start_websocket(std::shared_ptr<ServerState> state, tcp::socket socket,
                     const UpgradeRequest& request) {
  std::make_shared<WsSession>(std::move(state), std::move(socket))->start(request);
}

}  // namespace tickertape::net
