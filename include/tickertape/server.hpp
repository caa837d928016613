// Server: an engine behind WebSocket and HTTP.
#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <tickertape/engine.hpp>

namespace tickertape {

struct ServerOptions {
  std::string host = "127.0.0.1";          ///< An address, or a name of this machine.
  std::uint16_t port = 8000;               ///< 0 picks one.
  bool allow_anonymous = false;            ///< Needed to listen beyond loopback.
  std::string served_model_name;           ///< Default: the model's name.
  std::vector<std::string> allow_origins;  ///< Beyond the server's own.
  std::size_t max_connections = 4096;
  std::size_t max_streams = 256;            ///< Living generations per connection.
  std::size_t max_body = 4U << 20;          ///< Bytes of a body or of a WebSocket message.
  std::size_t max_write_buffer = 1U << 20;  ///< Bytes that wait to be written per connection.
  double idle_timeout_s = 60;
  double handshake_timeout_s = 30;
  double drain_timeout_s = 30;
};

/// Serves one engine on one executor. The executor's context must be run by one thread, or the
/// executor be a strand.
///
/// Thread rules: members are called on that executor's thread, or before it runs; port() anywhere.
class Server {
 public:
  /// Binds at once. Throws Error(Errc::invalid_request) naming the option at fault: an address that
  /// cannot be bound, or one beyond loopback without allow_anonymous.
  Server(boost::asio::any_io_executor executor, Engine& engine, ServerOptions options);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Begins to accept.
  void start();

  [[nodiscard]] std::uint16_t port() const noexcept;
  [[nodiscard]] std::string url() const;  ///< "http://127.0.0.1:8000"
  [[nodiscard]] std::size_t num_connections() const;

  /// Refuses new work with 503 and calls `done` once the running generations have ended, or after
  /// drain_timeout_s (those left then end with `shutdown`).
  void drain(std::function<void()> done);

  /// Closes the listener and every connection at once.
  void stop();

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace tickertape
