// FakeWsServer: a WebSocket server that says what a test tells it to, right or wrong.
#pragma once
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "tests/support/raw_socket.hpp"

namespace tickertape::test {

/// One client's connection, from behind the server's handshake on.
class FakeWsConnection {
 public:
  explicit FakeWsConnection(RawSocket socket) : socket_(std::move(socket)) {}

  /// Reads the upgrade request; its header is kept.
  void read_upgrade();
  /// Answers it with 101.
  void accept_upgrade();
  [[nodiscard]] const std::string& header() const noexcept { return header_; }
  RawSocket& socket() noexcept { return socket_; }

  /// The bytes of one unmasked frame.
  static std::string frame(unsigned opcode, std::string_view payload);
  void send(const nlohmann::json& message) { socket_.send(frame(1, message.dump())); }
  void send_hello();
  /// accepted, without tokens yet.
  void send_accepted(const std::string& id);
  void send_token(const std::string& id, int seq, const std::string& text);

  /// The client's next text message; null when it closed or went.
  nlohmann::json next();
  /// The code of the close frame that ended next(); 0 if there was none.
  [[nodiscard]] int close_code() const noexcept { return close_code_; }

 private:
  RawSocket socket_;
  std::string header_;
  std::string buffer_;
  int close_code_ = 0;
};

/// Listens on a port of its own. Blocking; used by one thread.
class FakeWsServer {
 public:
  FakeWsServer();
  ~FakeWsServer();
  FakeWsServer(const FakeWsServer&) = delete;
  FakeWsServer& operator=(const FakeWsServer&) = delete;

  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
  [[nodiscard]] std::string url() const { return "ws://127.0.0.1:" + std::to_string(port_); }

  /// The next connection, before its upgrade is read.
  FakeWsConnection accept();
  /// The same with the upgrade answered and hello sent.
  FakeWsConnection accept_ready();

 private:
  int fd_;
  std::uint16_t port_ = 0;
};

}  // namespace tickertape::test
