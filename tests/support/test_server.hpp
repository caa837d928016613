// TestServer: an engine and a server on a thread of their own.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <tickertape/engine.hpp>
#include <tickertape/fake.hpp>
#include <tickertape/scripted.hpp>
#include <tickertape/server.hpp>

#include "tests/support/raw_socket.hpp"

namespace tickertape::test {

/// The trials' tiny pool: 24 pages of 16 tokens, 8 sequences.
inline EngineOptions tiny_pool() {
  EngineOptions options;
  options.page_size = 16;
  options.num_kv_pages = 24;
  options.max_num_seqs = 8;
  options.threads = 1;
  return options;
}

/// A pool in which nothing has to wait.
inline EngineOptions large_pool() {
  EngineOptions options;
  options.page_size = 16;
  options.num_kv_pages = 4096;
  options.max_num_seqs = 64;
  options.threads = 1;
  return options;
}

class TestServer {
 public:
  explicit TestServer(std::shared_ptr<const Model> model,
                      EngineOptions engine_options = tiny_pool(), ServerOptions options = {});
  ~TestServer();
  TestServer(const TestServer&) = delete;
  TestServer& operator=(const TestServer&) = delete;

  [[nodiscard]] std::uint16_t port() const;
  Engine& engine() noexcept;
  Server& server() noexcept;

  /// Runs `function` on the server's thread and waits for it.
  void on_loop(const std::function<void()>& function);

  /// Waits until `condition` holds for the engine's figures; throws after two minutes.
  void wait_for(const std::function<bool(const EngineStats&)>& condition);

  /// Waits until nothing runs, waits or holds a page.
  void wait_idle();

  /// Waits until the server has no more than `count` connections.
  void wait_connections(std::size_t count);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

/// What a plain HTTP request gave.
struct HttpResult {
  int status = 0;
  std::string header;
  std::string body;
};

/// Reads one response from the socket; bytes beyond it stay in `rest`.
HttpResult read_response(RawSocket& socket, std::string& rest, bool head = false);

/// Sends `request` on a new connection and reads one response.
HttpResult http(std::uint16_t port, std::string_view request);

HttpResult get(std::uint16_t port, std::string_view path);

}  // namespace tickertape::test
