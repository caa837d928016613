// B14: WebSocket fragments, control frames between them, and frames that must not be.
#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "tests/support/test_server.hpp"
#include "tests/support/ws_client.hpp"

namespace tickertape::test {
namespace {

/// Bytes from hex digits; spaces mean nothing.
std::string bytes(const std::string& hex) {
  std::string out;
  std::string pair;
  for (const char c : hex) {
    if (c == ' ') continue;
    pair += c;
    if (pair.size() < 2) continue;
    out += static_cast<char>(std::stoi(pair, nullptr, 16));
    pair.clear();
  }
  return out;
}

struct Fixture {
  Fixture() : server(make_scripted_model(script()), tiny_pool(), limits()), client(server.port()) {
    client.until("hello");
  }
  static Script script() {
    Script script;
    script.fallback.text = "fine";
    return script;
  }
  static ServerOptions limits() {
    ServerOptions options;
    options.max_body = 200'000;
    return options;
  }
  /// Sends raw frames; the close code that they are answered with.
  int closed_with(const std::string& frames) {
    WsClient rude(server.port());
    rude.socket().send(frames);
    return rude.wait_close();
  }
  ~Fixture() {
    client.send({{"type", "submit"}, {"id", "survivor"}, {"prompt", "x"}});
    BOOST_TEST(read_answer(client, "survivor").text == "fine");
    server.wait_connections(1);
    server.wait_idle();
  }

  TestServer server;
  WsClient client;
};

BOOST_FIXTURE_TEST_SUITE(b14, Fixture)

// The messages are no JSON: each is answered with one error frame, and the connection stays.
BOOST_AUTO_TEST_CASE(b14_fragments_are_joined_with_control_frames_between) {
  client.socket().send(
      bytes("0182 00000000 4865 8981 00000000 50 0081 00000000 6C"
            "8082 00000000 6C6F"));
  const WsFrame pong = client.next_frame();
  BOOST_TEST(pong.opcode == 10U);
  BOOST_TEST(pong.payload == "P");
  BOOST_TEST(client.next()["type"] == "error");
}

BOOST_AUTO_TEST_CASE(b14_a_character_may_be_split_over_fragments) {
  client.socket().send(bytes("0182 00000000 E282 8081 00000000 AC"));
  const Json error = client.next();
  BOOST_TEST(error["type"] == "error");
  BOOST_TEST(error["status"] == 400);
}

BOOST_AUTO_TEST_CASE(b14_a_hundred_thousand_fragments_of_one_byte) {
  std::string text = R"({"type":"submit","id":"long","prompt":"x"})";
  text.append(100'000 - text.size(), ' ');
  std::string frames;
  for (std::size_t i = 0; i < text.size(); ++i) {
    frames += WsClient::frame(i == 0 ? 1 : 0, {&text[i], 1}, i + 1 == text.size());
  }
  client.socket().send(frames);
  BOOST_TEST(read_answer(client, "long").text == "fine");
}

BOOST_AUTO_TEST_CASE(b14_the_limit_is_that_of_the_whole_message) {
  const std::string half(150'000, ' ');
  BOOST_TEST(closed_with(WsClient::frame(1, half, false) + WsClient::frame(0, half)) == 1009);
  BOOST_TEST(closed_with(WsClient::frame(1, half + half)) == 1009);
  // A length is not believed before the bytes have come, nor waited for.
  BOOST_TEST(closed_with(bytes("82FF 4000000000000000 00000000")) == 1009);
  BOOST_TEST(closed_with(bytes("81FF FFFFFFFFFFFFFFFF 00000000")) != 0);
}

BOOST_AUTO_TEST_CASE(b14_bad_frames_close_with_their_code) {
  BOOST_TEST(closed_with(bytes("8102 6869")) == 1002);  // Unmasked.
  BOOST_TEST(closed_with(bytes("89FE 007E 00000000") + std::string(126, 'p')) == 1002);
  BOOST_TEST(closed_with(bytes("0981 00000000 50")) == 1002);  // A ping in parts.
  BOOST_TEST(closed_with(bytes("8182 00000000 C328")) == 1007);
  BOOST_TEST(closed_with(bytes("8181 00000000 E2")) == 1007);  // It ends too early.
  BOOST_TEST(closed_with(bytes("8081 00000000 41")) == 1002);  // Nothing to continue.
  BOOST_TEST(closed_with(bytes("0181 00000000 41 8181 00000000 42")) == 1002);
  BOOST_TEST(closed_with(bytes("C181 00000000 41")) == 1002);  // A reserved bit.
  BOOST_TEST(closed_with(bytes("8381 00000000 41")) == 1002);  // A reserved opcode.
  BOOST_TEST(closed_with(bytes("8881 00000000 41")) == 1002);  // Half a close code.
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace tickertape::test
