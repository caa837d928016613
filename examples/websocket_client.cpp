// A WebSocket client of tickertape.v1: several generations at once over one connection.
//
// usage: websocket_client URL PROMPT...    URL: ws://host:port or http://host:port
//
// With one prompt its answer is streamed; with several, each line tells whose text follows.
#include <boost/asio.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/websocket.hpp>
#include <exception>
#include <iostream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace websocket = beast::websocket;
using asio::use_awaitable;
using tcp = asio::ip::tcp;
using nlohmann::json;

struct Address {
  std::string host;
  std::string port;
};

// Of "ws://host:port/..." or "http://host:port/...": host and port; IPv6 in brackets.
Address parse_url(const std::string& url) {
  const auto scheme = url.find("://");
  if (scheme == std::string::npos) throw std::invalid_argument(url + ": not a URL");
  std::string rest = url.substr(scheme + 3);
  rest.resize(std::min(rest.size(), rest.find('/')));
  const auto colon = rest.rfind(':');
  if (colon == std::string::npos) throw std::invalid_argument(url + ": the port is missing");
  Address address;
  address.host = rest.substr(0, colon);
  address.port = rest.substr(colon + 1);
  if (address.host.size() > 2 && address.host.front() == '[') {
    address.host = address.host.substr(1, address.host.size() - 2);
  }
  return address;
}

std::string submit_frame(std::size_t number, const std::string& prompt) {
  json message;
  message["role"] = "user";
  message["content"] = prompt;
  json frame;
  frame["type"] = "submit";
  frame["id"] = std::to_string(number);
  frame["messages"] = json::array();
  frame["messages"].push_back(std::move(message));
  frame["max_tokens"] = 96;
  frame["temperature"] = 0;
  return frame.dump();
}

// Prints text under the name of the generation it belongs to.
class Printer {
 public:
  explicit Printer(bool names) : names_(names) {}

  void text(const std::string& id, const std::string& text) {
    if (text.empty()) return;
    if (names_ && id != last_) std::cout << (last_.empty() ? "" : "\n") << '[' << id << "] ";
    last_ = id;
    std::cout << text << std::flush;
  }

  void end() {
    std::cout << std::endl;
    last_.clear();
  }

 private:
  bool names_;
  std::string last_;
};

asio::awaitable<void> run(const Address& address, const std::vector<std::string>& prompts) {
  const auto executor = co_await asio::this_coro::executor;
  tcp::resolver resolver(executor);
  const auto endpoints = co_await resolver.async_resolve(address.host, address.port, use_awaitable);
  websocket::stream<tcp::socket> socket(executor);
  co_await asio::async_connect(socket.next_layer(), endpoints, use_awaitable);
  socket.set_option(websocket::stream_base::decorator([](websocket::request_type& request) {
    request.set(beast::http::field::sec_websocket_protocol, "tickertape.v1");
  }));
  const bool v6 = address.host.find(':') != std::string::npos;
  const std::string host = v6 ? "[" + address.host + "]" : address.host;
  co_await socket.async_handshake(host + ":" + address.port, "/v1/stream", use_awaitable);

  for (std::size_t number = 0; number < prompts.size(); ++number) {
    const std::string frame = submit_frame(number, prompts[number]);
    co_await socket.async_write(asio::buffer(frame), use_awaitable);
  }
  Printer printer(prompts.size() > 1);
  std::size_t running = prompts.size();
  while (running > 0) {
    beast::flat_buffer buffer;
    co_await socket.async_read(buffer, use_awaitable);
    const json frame = json::parse(beast::buffers_to_string(buffer.data()));
    const std::string type = frame.at("type").get<std::string>();
    if (type == "token") {
      printer.text(frame.at("id").get<std::string>(), frame.at("text").get<std::string>());
    } else if (type == "done" || type == "error") {
      if (frame.contains("message")) throw std::runtime_error(frame["message"].get<std::string>());
      --running;
    }
  }
  printer.end();
  co_await socket.async_close(websocket::close_code::normal, use_awaitable);
}

int main(int argc, char** argv) {
  if (argc < 3) {
    std::cerr << "usage: websocket_client URL PROMPT...\n";
    return 2;
  }
  try {
    const Address address = parse_url(argv[1]);
    const std::vector<std::string> prompts(argv + 2, argv + argc);
    asio::io_context io(1);
    asio::co_spawn(io, run(address, prompts), [](std::exception_ptr error) {
      if (error) std::rethrow_exception(error);
    });
    io.run();
  } catch (const std::exception& error) {
    std::cerr << "websocket_client: " << error.what() << '\n';
    return 1;
  }
}
