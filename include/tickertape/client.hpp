// Client: the generations of a tickertape server, as if its engine were here.
#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <tickertape/detail/call_op.hpp>
#include <tickertape/detail/handler_executor.hpp>
#include <tickertape/errors.hpp>
#include <tickertape/request.hpp>
#include <tickertape/token_stream.hpp>

namespace tickertape {

namespace net {
class ClientCore;
}

struct ClientOptions {
  /// ws://host[:port][/path]; the path is /v1/stream when none is given. IPv6 addresses stand in
  /// brackets. http:// means the same as ws://.
  std::string url = "ws://127.0.0.1:8000/v1/stream";
  std::string api_key;            ///< Sent as Authorization: Bearer; empty = none.
  double connect_timeout_s = 10;  ///< For name, connection, handshake and hello together.
  double idle_timeout_s = 60;     ///< A server that is silent for so long, pings included, is lost.
  double close_timeout_s = 5;     ///< For the server's part of a close.
  std::size_t max_message = 64U << 20;  ///< Bytes of a message of the server.
};

/// What a server says of itself.
struct ServerHello {
  std::string model;
  std::uint32_t max_model_len = 0;
  std::size_t max_streams = 0;  ///< Living generations per connection.
  std::size_t max_body = 0;     ///< Bytes of a request as JSON; 0 = not said.
};

/// One WebSocket connection (tickertape.v1) for many generations at once. What async_submit gives
/// is used like an Engine's stream: the same tokens, credits, cancellation and end.
///
/// A connection is made by async_connect, or by the first async_submit that finds none. When it is
/// lost, every living generation ends with Errc::connection_lost and the reason; nothing is
/// submitted again by itself, and the next async_submit connects anew. A generation that is not
/// read holds no more memory than its window.
///
/// Thread rules: every member may be called from any thread, and the executor may be run by any
/// number of them. Completion handlers run on their associated executor (the client's by default)
/// and never inside the initiating call. An open connection is work: run() returns after close().
/// The executor's context may end at any time. The destructor closes; streams may outlive it.
class Client {
 public:
  /// Throws Error(Errc::invalid_request) naming the option at fault, or Errc::not_supported for
  /// wss://. Connects nowhere yet.
  explicit Client(const boost::asio::any_io_executor& executor, ClientOptions options = {});
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  /// Makes the connection if there is none. Completes with `void(error_code)`: the system's error
  /// when there is one, else Errc::connection_lost; last_error() says more. A cancelled call
  /// completes with operation_aborted, and the attempt goes on.
  template <class CompletionToken>
  auto async_connect(CompletionToken&& token) {
    return boost::asio::async_initiate<CompletionToken, void(error_code)>(
        [core = core_](auto&& handler) {
          detail::start_call<detail::ConnectShape>(
              prepare_connect(*core, detail::handler_executor(handler)),
              std::forward<decltype(handler)>(handler));
        },
        token);
  }

  /// Submits a request. Completes with `void(error_code, TokenStream)` once the server has accepted
  /// or refused it. On refusal the error is one of Errc and the stream is finished:
  /// finish().error says which field and why. A cancelled call completes with operation_aborted and
  /// ends the generation. Request::logit_processor cannot be sent and is refused; Request::client
  /// is what the server makes of the connection.
  template <class CompletionToken>
  auto async_submit(Request request, CompletionToken&& token) {
    return boost::asio::async_initiate<CompletionToken, void(error_code, TokenStream)>(
        [core = core_](auto&& handler, Request&& wanted) {
          detail::start_call<detail::SubmitShape>(
              prepare_submit(*core, detail::handler_executor(handler), std::move(wanted)),
              std::forward<decltype(handler)>(handler));
        },
        token, std::move(request));
  }

  /// Ends the connection and, with FinishReason::shutdown, what runs on it. Later calls complete
  /// with Errc::shutting_down.
  void close();

  /// What the server of the present or last connection said; nothing before the first one.
  [[nodiscard]] std::optional<ServerHello> hello() const;

  /// Why there is no connection any more; empty while one lives, is being made, or was never made.
  [[nodiscard]] ErrorInfo last_error() const;

  [[nodiscard]] const ClientOptions& options() const noexcept;
  /// The client's executor; an empty one once its context has ended.
  [[nodiscard]] boost::asio::any_io_executor get_executor() const;

 private:
  static std::shared_ptr<detail::AsyncCall> prepare_connect(
      net::ClientCore& core, const boost::asio::any_io_executor& executor);
  static std::shared_ptr<detail::AsyncCall> prepare_submit(
      net::ClientCore& core, const boost::asio::any_io_executor& executor, Request&& request);

  std::shared_ptr<net::ClientCore> core_;
};

}  // namespace tickertape
