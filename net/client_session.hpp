// ClientSession: a client's WebSocket from the name of the server to the close.
#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include <tickertape/client.hpp>

#include "net/client_url.hpp"

namespace tickertape::net {

/// What a session tells its owner, on the session's executor and never inside a call of the owner.
class SessionListener {
 public:
  /// A text message has come.
  virtual void session_text(std::string_view text) = 0;
  /// A message was written; fewer bytes wait now.
  virtual void session_written() = 0;
  /// It is over, or never began. `error` is the system's where there is one, else
  /// Errc::connection_lost; `why` is a clause for messages. Nothing follows.
  virtual void session_ended(error_code error, std::string why) = 0;

 protected:
  ~SessionListener() = default;
};

/// Thread rules: its executor, which is a strand. It stays alive while it has something to do.
class ClientSession {
 public:
  virtual ~ClientSession() = default;

  /// Queues a text message; before the handshake is done it waits.
  virtual void send(std::string text) = 0;
  [[nodiscard]] virtual std::size_t unsent_bytes() const noexcept = 0;

  /// From now on the listener hears nothing. Writes what waits, then closes with a code of RFC
  /// 6455, section 7.4; what takes too long is cut.
  virtual void close(std::uint16_t code, std::string_view reason) = 0;
  /// From now on the listener hears nothing. Ends at once.
  virtual void stop() noexcept = 0;
};

/// Begins to connect.
[[nodiscard]] std::shared_ptr<ClientSession> open_client_session(
    const boost::asio::any_io_executor& strand, const ClientUrl& url, const ClientOptions& options,
    std::weak_ptr<SessionListener> listener);

}  // namespace tickertape::net
