// An HTTP server of somebody else's that gains an engine: the lines between "tickertape:" and
// ":end".
//
// usage: embed_in_asio_server MODEL [PORT]
//   GET /      what the server did before
//   POST /ask  streams the model's answer to the body, as chunks of plain text
#include <boost/asio.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <string>
#include <utility>
// tickertape:
#include <tickertape/engine.hpp>
// :end

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::use_awaitable;
using tcp = asio::ip::tcp;
using Request = http::request<http::string_body>;

asio::awaitable<void> reply(beast::tcp_stream& socket, http::status status, std::string text) {
  http::response<http::string_body> response(status, 11);
  response.body() = std::move(text);
  response.prepare_payload();
  co_await http::async_write(socket, response, use_awaitable);
}

// tickertape:
asio::awaitable<void> stream_answer(tickertape::Engine& engine, beast::tcp_stream& socket,
                                    std::string prompt) {
  tickertape::Request request;
  request.prompt = std::move(prompt);
  request.max_tokens = 48;
  request.sampling.temperature = 0;
  if (const auto refused = engine.check(request)) {
    co_await reply(socket, http::status(refused->status()), refused->message + "\n");
    co_return;
  }
  auto answer = co_await engine.async_submit(std::move(request), use_awaitable);

  http::response<http::empty_body> head;
  head.set(http::field::content_type, "text/plain; charset=utf-8");
  head.chunked(true);
  http::response_serializer<http::empty_body> serializer(head);
  co_await http::async_write_header(socket, serializer, use_awaitable);

  // A client that goes away makes the write throw: the stream is dropped, the generation ends.
  // One that reads slowly is not read ahead of: its sequence waits, the others do not.
  while (auto token = co_await answer.async_next(use_awaitable)) {
    if (token->text.empty()) continue;
    co_await asio::async_write(socket, http::make_chunk(asio::buffer(token->text)), use_awaitable);
  }
  co_await asio::async_write(socket, http::make_chunk_last(), use_awaitable);
}
// :end

asio::awaitable<void> session(tcp::socket accepted, tickertape::Engine& engine) {
  beast::tcp_stream socket(std::move(accepted));
  beast::flat_buffer buffer;
  while (true) {
    Request request;
    beast::error_code ended;
    co_await http::async_read(socket, buffer, request, asio::redirect_error(use_awaitable, ended));
    if (ended) co_return;
    const bool again = request.keep_alive();
    if (request.target() == "/") {
      co_await reply(socket, http::status::ok, "Hello from the old server.\n");
      // tickertape:
    } else if (request.method() == http::verb::post && request.target() == "/ask") {
      co_await stream_answer(engine, socket, std::move(request.body()));
      // :end
    } else {
      co_await reply(socket, http::status::not_found, "Nothing here.\n");
    }
    if (!again) co_return;
  }
}

asio::awaitable<void> accept_all(tcp::acceptor& acceptor, tickertape::Engine& engine) {
  while (true) {
    tcp::socket socket = co_await acceptor.async_accept(use_awaitable);
    asio::co_spawn(acceptor.get_executor(), session(std::move(socket), engine),
                   [](std::exception_ptr) {});  // A lost connection concerns nobody else.
  }
}

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: embed_in_asio_server MODEL [PORT]\n";
    return 2;
  }
  try {
    asio::io_context io(1);
    // tickertape:
    tickertape::Engine engine(tickertape::load_model(argv[1]));
    // :end
    const auto port = static_cast<unsigned short>(argc > 2 ? std::atoi(argv[2]) : 8080);
    tcp::acceptor acceptor(io, tcp::endpoint(asio::ip::make_address("127.0.0.1"), port));
    std::cout << "listening on http://127.0.0.1:" << acceptor.local_endpoint().port() << std::endl;
    asio::co_spawn(io, accept_all(acceptor, engine), [](std::exception_ptr error) {
      if (error) std::rethrow_exception(error);
    });
    asio::signal_set signals(io, SIGINT, SIGTERM);
    signals.async_wait([&io](beast::error_code, int) { io.stop(); });
    io.run();
  } catch (const std::exception& error) {
    std::cerr << "embed_in_asio_server: " << error.what() << '\n';
    return 1;
  }
}
