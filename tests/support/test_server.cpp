// TestServer: an engine and a server on a thread of their own.
#include "tests/support/test_server.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <chrono>
#include <future>
#include <new>
#include <stdexcept>
#include <thread>
#include <utility>

namespace tickertape::test {
namespace {

ServerOptions with_any_port(ServerOptions options) {
  options.port = 0;
  return options;
}

}  // namespace

struct TestServer::Parts {
  Parts(std::shared_ptr<const Model> model, EngineOptions engine_options, ServerOptions options)
      : engine(std::move(model), std::move(engine_options)),
        work(io.get_executor()),
        server(std::in_place, io.get_executor(), engine, with_any_port(std::move(options))) {
    server->start();
    thread = std::thread([this] { run(); });
  }

  /// What leaves run() ends the program, except where a test lets the memory run out.
  void run() {
    for (;;) {
      try {
        io.run();
        return;
      } catch (const std::bad_alloc&) {
      }
    }
  }

  boost::asio::io_context io{1};
  Engine engine;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work;
  std::optional<Server> server;
  std::thread thread;
};

TestServer::TestServer(std::shared_ptr<const Model> model, EngineOptions engine_options,
                       ServerOptions options)
    : parts_(std::make_unique<Parts>(std::move(model), std::move(engine_options),
                                     std::move(options))) {}

TestServer::~TestServer() {
  on_loop([&] { parts_->server.reset(); });
  parts_->work.reset();
  parts_->thread.join();
}

std::uint16_t TestServer::port() const {
  return parts_->server->port();
}
Engine& TestServer::engine() noexcept {
  return parts_->engine;
}
Server& TestServer::server() noexcept {
  return *parts_->server;
}

void TestServer::on_loop(const std::function<void()>& function) {
  std::promise<void> done;
  boost::asio::post(parts_->io, [&] {
    function();
    done.set_value();
  });
  done.get_future().wait();
}

void TestServer::wait_for(const std::function<bool(const EngineStats&)>& condition) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  while (!condition(engine().stats())) {
    if (std::chrono::steady_clock::now() > limit) throw std::runtime_error("it never came true");
    on_loop([] {});  // Gives way to the server, and makes sure that it still runs.
  }
}

void TestServer::wait_idle() {
  wait_for([](const EngineStats& stats) {
    return stats.num_running == 0 && stats.num_waiting == 0 && stats.pages_held == 0;
  });
}

void TestServer::wait_connections(std::size_t count) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  for (std::size_t open = count + 1; open > count;) {
    if (std::chrono::steady_clock::now() > limit) throw std::runtime_error("connections stay");
    on_loop([&] { open = server().num_connections(); });
  }
}

/// Reads one response from the socket; bytes beyond it stay in `rest`.
HttpResult read_response(RawSocket& socket, std::string& rest, bool head) {
  HttpResult out;
  std::size_t end = std::string::npos;
  while ((end = rest.find("\r\n\r\n")) == std::string::npos) {
    const std::string some = socket.read();
    if (some.empty()) return out;
    rest += some;
  }
  out.header = rest.substr(0, end + 2);
  rest.erase(0, end + 4);
  out.status = std::stoi(out.header.substr(9));
  const auto field = out.header.find("Content-Length: ");
  const std::size_t length =
      head || field == std::string::npos ? 0 : std::stoul(out.header.substr(field + 16));
  while (rest.size() < length) {
    const std::string some = socket.read();
    if (some.empty()) break;
    rest += some;
  }
  out.body = rest.substr(0, length);
  rest.erase(0, length);
  return out;
}

/// Sends `request` on a new connection and reads one response.
HttpResult http(std::uint16_t port, std::string_view request) {
  RawSocket socket(port);
  socket.send(request);
  std::string rest;
  return read_response(socket, rest, false);
}

HttpResult get(std::uint16_t port, std::string_view path) {
  return http(port, "GET " + std::string(path) + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
}

}  // namespace tickertape::test
