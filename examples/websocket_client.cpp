// A WebSocket client of tickertape.v1: several generations at once over one connection.
//
// usage: websocket_client URL PROMPT...    URL: ws://host:port or http://host:port
//
// With one prompt its answer is streamed; with several, each line tells whose text follows.
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <string>
#include <tickertape/client.hpp>
#include <utility>

namespace asio = boost::asio;

// Prints text under the number of the generation it belongs to.
class Printer {
 public:
  explicit Printer(bool numbers) : numbers_(numbers) {}

  void text(int number, const std::string& text) {
    if (text.empty()) return;
    if (numbers_ && number != last_) std::cout << (last_ < 0 ? "" : "\n") << '[' << number << "] ";
    last_ = number;
    std::cout << text << std::flush;
  }

 private:
  bool numbers_;
  int last_ = -1;
};

asio::awaitable<void> answer(tickertape::Client& client, int number, std::string prompt,
                             Printer& printer) {
  tickertape::Request request;
  tickertape::ChatMessage message;
  message.role = "user";
  message.content = std::move(prompt);
  request.messages.push_back(std::move(message));
  request.max_tokens = 96;
  request.sampling.temperature = 0;
  auto stream = co_await client.async_submit(std::move(request), asio::use_awaitable);
  while (auto token = co_await stream.async_next(asio::use_awaitable)) {
    printer.text(number, token->text);
  }
  const tickertape::Finish finish = stream.finish();
  if (finish.error) throw std::runtime_error(finish.error.message);
}

int main(int argc, char** argv) {
  if (argc < 3) {
    std::cerr << "usage: websocket_client URL PROMPT...\n";
    return 2;
  }
  try {
    asio::io_context io(1);
    tickertape::ClientOptions options;
    options.url = argv[1];
    tickertape::Client client(io.get_executor(), options);
    Printer printer(argc > 3);
    int running = argc - 2;
    for (int i = 2; i < argc; ++i) {
      asio::co_spawn(io, answer(client, i - 2, argv[i], printer), [&](std::exception_ptr error) {
        if (error) std::rethrow_exception(error);
        if (--running == 0) client.close();  // An open connection keeps run() going.
      });
    }
    try {
      io.run();
    } catch (const boost::system::system_error&) {
      const tickertape::ErrorInfo lost = client.last_error();  // Says more than the code.
      if (lost) throw std::runtime_error(lost.message);
      throw;
    }
    std::cout << std::endl;
  } catch (const std::exception& error) {
    std::cerr << "websocket_client: " << error.what() << '\n';
    return 1;
  }
}
