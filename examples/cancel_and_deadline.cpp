// To stop waiting for a token, to stop a generation, and to give it a deadline.
//
// usage: cancel_and_deadline MODEL
#include <boost/asio.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <chrono>
#include <exception>
#include <iostream>
#include <tickertape/engine.hpp>
#include <utility>

namespace asio = boost::asio;
using asio::use_awaitable;
using namespace asio::experimental::awaitable_operators;

tickertape::Request ask_for(std::uint32_t max_tokens) {
  tickertape::Request request;
  request.prompt = "Once upon a time";
  request.max_tokens = max_tokens;
  request.sampling.ignore_eos = true;
  return request;
}

// Whichever comes first, a token or the timer. The read that loses is cancelled and the stream
// keeps what it would have got, so no token is lost.
asio::awaitable<void> stop_a_read(tickertape::Engine& engine) {
  auto stream = co_await engine.async_submit(ask_for(16), use_awaitable);
  asio::steady_timer timer(co_await asio::this_coro::executor);
  std::uint64_t tokens = 0;
  std::uint64_t waits = 0;
  bool in_order = true;
  while (!stream.done()) {
    timer.expires_after(std::chrono::milliseconds(1));
    auto first = co_await (stream.async_next(use_awaitable) || timer.async_wait(use_awaitable));
    if (first.index() == 1) {
      ++waits;  // Time to do something else. Operators as here need one thread, or a strand.
    } else if (auto& token = std::get<0>(first)) {
      in_order = in_order && token->seq == tokens++;
    }
  }
  std::cout << tokens << " tokens, " << (in_order ? "none" : "some") << " lost, " << waits
            << " waits ran out\n";
}

// cancel() ends the generation, and so does dropping the stream. Its pages are free at the next
// pass; what was ready can still be read.
asio::awaitable<void> stop_a_generation(tickertape::Engine& engine) {
  auto stream = co_await engine.async_submit(ask_for(1000), use_awaitable);
  for (int i = 0; i < 5; ++i) co_await stream.async_next(use_awaitable);
  stream.cancel();
  while (co_await stream.async_next(use_awaitable)) {
  }
  std::cout << "ended as " << to_string(stream.finish().reason) << '\n';
}

// A deadline counts from the submission and covers the wait for a place in the batch.
asio::awaitable<void> miss_a_deadline(tickertape::Engine& engine) {
  tickertape::Request request = ask_for(1000);
  request.deadline_ms = 300;
  auto stream = co_await engine.async_submit(std::move(request), use_awaitable);
  while (co_await stream.async_next(use_awaitable)) {
  }
  std::cout << "ended as " << to_string(stream.finish().reason) << '\n';
}

asio::awaitable<void> run(tickertape::Engine& engine) {
  co_await stop_a_read(engine);
  co_await stop_a_generation(engine);
  co_await miss_a_deadline(engine);
}

int main(int argc, char** argv) {
  tickertape::Engine engine(tickertape::load_model(argc > 1 ? argv[1] : "model.gguf"));
  asio::io_context io(1);
  asio::co_spawn(io, run(engine), [](std::exception_ptr error) {
    if (error) std::rethrow_exception(error);
  });
  io.run();
}
