// Callbacks, and futures on a thread that runs no loop: the same engine, other completion tokens.
//
// usage: callback_and_future MODEL
#include <boost/asio.hpp>
#include <exception>
#include <functional>
#include <future>
#include <iostream>
#include <memory>
#include <string>
#include <tickertape/engine.hpp>
#include <utility>

namespace asio = boost::asio;
using tickertape::error_code;

tickertape::Request ask(std::string question) {
  tickertape::Request request;
  request.prompt = std::move(question);
  request.max_tokens = 24;
  request.sampling.temperature = 0;
  return request;
}

// The handler of each read starts the next one, and holds the object as long as something is to
// come.
class Answer : public std::enable_shared_from_this<Answer> {
 public:
  using Done = std::function<void(error_code, std::string)>;

  explicit Answer(Done done) : done_(std::move(done)) {}

  void start(tickertape::Engine& engine, tickertape::Request request) {
    engine.async_submit(std::move(request), [self = shared_from_this()](
                                                error_code error, tickertape::TokenStream stream) {
      if (error) return self->done_(error, stream.finish().error.message);
      self->stream_ = std::move(stream);
      self->read();
    });
  }

 private:
  void read() {
    stream_.async_next(
        [self = shared_from_this()](error_code error, std::optional<tickertape::Token> token) {
          if (error || !token) return self->done_(error, std::move(self->text_));
          self->text_ += token->text;
          self->read();
        });
  }

  Done done_;
  tickertape::TokenStream stream_;
  std::string text_;
};

int main(int argc, char** argv) {
  try {
    asio::thread_pool pool(1);  // Somebody must run the handlers.
    tickertape::EngineOptions options;
    options.executor = pool.get_executor();  // For handlers that have no executor of their own.
    tickertape::Engine engine(tickertape::load_model(argc > 1 ? argv[1] : "model.gguf"), options);

    std::make_shared<Answer>([](error_code error, const std::string& text) {
      std::cout << "by callbacks: " << (error ? error.message() + ": " : "") << text << std::endl;
    })->start(engine, ask("The sky is blue because"));

    // Futures: this thread just blocks; a refusal would be thrown by get().
    auto stream = engine.async_submit(ask("Water is wet because"), asio::use_future).get();
    std::string text;
    while (auto token = stream.async_next(asio::use_future).get()) text += token->text;

    pool.join();  // Returns when no read waits any more: the callbacks' answer is complete.
    std::cout << "by futures: " << text << '\n';
  } catch (const std::exception& error) {
    std::cerr << "callback_and_future: " << error.what() << '\n';
    return 1;
  }
}
