// G08: bodies in a million pieces and a hundred thousand requests in one packet, on a server whose
// thread has a small stack.
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/test/unit_test.hpp>
#include <future>
#include <string>
#include <thread>

#include "tests/support/small_stack.hpp"
#include "tests/support/test_server.hpp"

namespace tickertape::test {
namespace {

constexpr int kChunks = kSanitized ? 50'000 : 1'000'000;
constexpr int kPipelined = kSanitized ? 5'000 : 100'000;

const std::string kHost = "Host: localhost\r\n";

/// A server whose only thread has a small stack.
class SmallStackServer {
 public:
  SmallStackServer() : server_(io_.get_executor(), engine_, any_port()) {
    server_.start();
    thread_ = std::thread([this] { on_small_stack([this] { io_.run(); }); });
  }
  ~SmallStackServer() {
    boost::asio::post(io_, [this] {
      server_.stop();
      io_.stop();
    });
    thread_.join();
  }
  [[nodiscard]] std::uint16_t port() const { return server_.port(); }

 private:
  static ServerOptions any_port() {
    ServerOptions options;
    options.port = 0;
    options.handshake_timeout_s = 3'600;  // A slow machine is no slow client.
    return options;
  }

  boost::asio::io_context io_{1};
  Engine engine_{make_paged_fake_model(), tiny_pool()};
  Server server_;
  std::thread thread_;
};

/// Sends while somebody else reads.
class Sender {
 public:
  Sender(RawSocket& socket, std::string bytes)
      : sent_(std::async(std::launch::async,
                         [&socket, bytes = std::move(bytes)] { return socket.send(bytes); })) {}
  bool all_sent() { return sent_.get(); }

 private:
  std::future<bool> sent_;
};

std::string post(const std::string& field, const std::string& body) {
  return "POST /nowhere HTTP/1.1\r\n" + kHost + field + "\r\n\r\n" + body;
}

BOOST_FIXTURE_TEST_SUITE(g08_net, SmallStackServer)

/// The answer is that of the same body in one piece, and the next request is read where it begins.
BOOST_AUTO_TEST_CASE(g08_a_body_of_a_million_chunks) {
  std::string chunks;
  for (int i = 0; i < kChunks; ++i) chunks += "1\r\nx\r\n";
  chunks += "0\r\n\r\n";
  RawSocket socket(port());
  std::string rest;
  socket.send(post("Content-Length: 3", "xxx"));
  const HttpResult whole = read_response(socket, rest);
  BOOST_TEST(whole.status == 404);
  Sender sender(socket, post("Transfer-Encoding: chunked", chunks) + "GET /health HTTP/1.1\r\n" +
                            kHost + "\r\n");
  const HttpResult chunked = read_response(socket, rest);
  BOOST_TEST(chunked.status == whole.status);
  BOOST_TEST(chunked.body == whole.body);
  BOOST_TEST(read_response(socket, rest).status == 200);
  BOOST_TEST(sender.all_sent());
}

BOOST_AUTO_TEST_CASE(g08_a_hundred_thousand_requests_at_once) {
  std::string requests;
  for (int i = 0; i < kPipelined; ++i) requests += "GET /health HTTP/1.1\r\n" + kHost + "\r\n";
  RawSocket socket(port());
  Sender sender(socket, requests + "GET /nowhere HTTP/1.1\r\n" + kHost + "\r\n");
  std::string rest;
  for (int i = 0; i < kPipelined; ++i) {
    BOOST_TEST_REQUIRE(read_response(socket, rest).status == 200, "answer " << i);
  }
  BOOST_TEST(read_response(socket, rest).status == 404);
  BOOST_TEST(sender.all_sent());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace tickertape::test
