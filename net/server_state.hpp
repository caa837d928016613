// ServerState: what the sessions of one server share, and Connection: how the server sees them.
#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>

#include <tickertape/engine.hpp>
#include <tickertape/server.hpp>

#include "net/client_frame.hpp"
#include "net/http_routes.hpp"

namespace tickertape::net {

class Connection;

/// Lives as long as the server or any of its sessions. Thread rules: the server's executor.
struct ServerState {
  ServerState(boost::asio::any_io_executor on, Engine& serves, ServerOptions with)
      : executor(std::move(on)),
        engine(&serves),
        options(std::move(with)),
        model_name(options.served_model_name.empty() ? serves.model().info().name
                                                     : options.served_model_name),
        tokenizer(serves.model().tokenizer()),
        frames(options.max_body, {model_name, serves.model().info().vocab_size}) {}

  [[nodiscard]] RouteContext context() const;

  /// Calls on_change; to be called when draining or the set of connections has changed.
  void changed() const {
    if (on_change) on_change();
  }

  boost::asio::any_io_executor executor;
  Engine* engine;  ///< Null once the server has stopped: the engine may be gone.
  ServerOptions options;
  std::string model_name;
  std::shared_ptr<const Tokenizer> tokenizer;  ///< Null when the model has none.
  FrameReader frames;
  std::int64_t started_s = 0;
  bool loopback = true;
  bool draining = false;
  std::set<Connection*> connections;
  std::size_t num_websockets = 0;
  std::function<void()> on_change;
};

/// A client's connection. Registered while it lives. Thread rules: the server's executor.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  explicit Connection(std::shared_ptr<ServerState> state) : state_(std::move(state)) {
    state_->connections.insert(this);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  virtual ~Connection() {
    state_->connections.erase(this);
    try {
      state_->changed();
    } catch (...) {  // Out of memory: the next connection that ends tries again.
    }
  }

  /// Takes no more work and closes once what runs has ended.
  virtual void drain() = 0;
  /// Ends what runs, each with its last frame.
  virtual void end_generations() = 0;
  /// Closes the socket at once.
  virtual void stop() = 0;

 protected:
  std::shared_ptr<ServerState> state_;
};

}  // namespace tickertape::net
