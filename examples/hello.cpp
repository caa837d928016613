// Hello: one answer, token by token, in a coroutine.
// [hello]
#include <boost/asio.hpp>
#include <iostream>
#include <tickertape/engine.hpp>

namespace asio = boost::asio;

asio::awaitable<void> answer(tickertape::Engine& engine) {
  tickertape::Request request;
  request.prompt = "Why is the sky blue?";
  request.max_tokens = 64;
  auto stream = co_await engine.async_submit(std::move(request), asio::use_awaitable);
  while (auto token = co_await stream.async_next(asio::use_awaitable)) {
    std::cout << token->text << std::flush;
  }
  std::cout << '\n' << stream.finish().usage.completion_tokens << " tokens\n";
}

int main(int argc, char** argv) {
  tickertape::EngineOptions options;
  options.max_num_seqs = 32;
  tickertape::Engine engine(tickertape::load_model(argc > 1 ? argv[1] : "model.gguf"), options);
  asio::io_context io;
  asio::co_spawn(io, answer(engine), [](std::exception_ptr error) {
    if (error) std::rethrow_exception(error);
  });
  io.run();
}
// [/hello]
