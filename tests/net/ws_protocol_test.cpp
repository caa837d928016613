// tickertape.v1 over a socket: the handshake, every frame, and what is refused how.
#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "tests/support/test_server.hpp"
#include "tests/support/ws_client.hpp"

namespace tickertape::test {
namespace {

std::shared_ptr<const Model> says(const std::string& text) {
  Script script;
  script.fallback.text = text;
  return make_scripted_model(script);
}

struct Fixture {
  Fixture() : server(says("Hello")), client(server.port()) { hello = client.next(); }

  /// Sends a frame and returns the error frame that it is answered with.
  Json refused(const std::string& text) {
    client.send_text(text);
    return client.until("error");
  }
  /// The connection and the server still work.
  void check_alive() {
    client.send({{"type", "submit"}, {"id", "alive"}, {"prompt", "x"}});
    BOOST_TEST(read_answer(client, "alive").text == "Hello");
  }

  TestServer server;
  WsClient client;
  Json hello;
};

BOOST_FIXTURE_TEST_SUITE(ws_protocol, Fixture)

BOOST_AUTO_TEST_CASE(hello_comes_first) {
  BOOST_TEST(client.status() == 101);
  BOOST_TEST(client.header().find("Sec-WebSocket-Protocol: tickertape.v1") != std::string::npos);
  BOOST_TEST(client.header().find("Sec-WebSocket-Extensions") == std::string::npos);
  BOOST_TEST(hello["type"] == "hello");
  BOOST_TEST(hello["protocol"] == "tickertape.v1");
  BOOST_TEST(hello["max_model_len"] == 384);
  BOOST_TEST(hello["max_streams"] == 256);
}

BOOST_AUTO_TEST_CASE(a_generation_from_accepted_to_done) {
  client.send(
      {{"type", "submit"}, {"id", "a"}, {"prompt_ids", {97, 98, 99, 100, 101, 102}}, {"seed", 5}});
  const Answer answer = read_answer(client, "a");
  BOOST_TEST(answer.trouble == "");
  BOOST_TEST(answer.text == "Hello");
  BOOST_TEST(answer.accepted["prompt_tokens"] == 6);
  BOOST_TEST(answer.accepted["queue_position"] == 0);
  BOOST_TEST(answer.accepted["seed"] == 5);
  BOOST_TEST(answer.done["finish_reason"] == "stop");
  BOOST_TEST(answer.done["final"] == true);
  BOOST_TEST(answer.done["usage"]["completion_tokens"] == 6);
  BOOST_TEST(answer.done["usage"]["total_tokens"] == 12);
  BOOST_TEST(answer.done["timings"]["ticks"] >= 6);
}

BOOST_AUTO_TEST_CASE(logprobs_come_when_asked_for) {
  client.send({{"type", "submit"}, {"id", "a"}, {"prompt", "x"}, {"logprobs", true}});
  const Answer with = read_answer(client, "a");
  BOOST_TEST(with.frames.at(1).contains("logprob"));
  client.send({{"type", "submit"}, {"id", "a"}, {"prompt", "x"}});
  BOOST_TEST(!read_answer(client, "a").frames.at(1).contains("logprob"));
}

BOOST_AUTO_TEST_CASE(messages_and_ids_run_too) {
  client.send(
      {{"type", "submit"}, {"id", "m"}, {"messages", {{{"role", "user"}, {"content", "hi"}}}}});
  BOOST_TEST(read_answer(client, "m").text == "Hello");
  client.send({{"type", "submit"}, {"id", "i"}, {"prompt_ids", {97, 98}}});
  const Answer answer = read_answer(client, "i");
  BOOST_TEST(answer.text == "Hello");
  BOOST_TEST(answer.accepted["prompt_tokens"] == 2);
}

BOOST_AUTO_TEST_CASE(ping_gives_pong) {
  client.send({{"type", "ping"}});
  BOOST_TEST(client.next() == Json({{"type", "pong"}}));
}

BOOST_AUTO_TEST_CASE(bad_json_is_refused_without_an_id_and_the_connection_stays) {
  for (const char* text :
       {"", "nonsense", "[]", "{\"type\":\"submit\",\"id\":\"a\",\"id\":\"b\"}"}) {
    const Json error = refused(text);
    BOOST_TEST(error["status"] == 400);
    BOOST_TEST(!error.contains("id"));
  }
  check_alive();
}

BOOST_AUTO_TEST_CASE(bad_fields_are_refused_with_their_names) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"("temperature":-1)", "temperature"},
      {R"("max_tokens":0)", "max_tokens"},
      {R"("stop":[5])", "stop"},
      {R"("window":0)", "window"},
      {R"("n":0)", "n"},
      {R"("n":9)", "n"},
      {R"("tools":[{}])", "tools"},
      {R"("temperature":1e999)", "temperature"},
      {R"("top_p":"1")", "top_p"}};
  for (const auto& [member, param] : cases) {
    const Json error = refused(R"({"type":"submit","id":"a","prompt":"x",)" + member + "}");
    BOOST_TEST(error["id"] == "a");
    BOOST_TEST(error["status"] == 400);
    BOOST_TEST(error["param"] == param);
  }
  check_alive();
}

BOOST_AUTO_TEST_CASE(another_model_is_a_404) {
  const Json error = refused(R"({"type":"submit","id":"a","prompt":"x","model":"other"})");
  BOOST_TEST(error["status"] == 404);
  BOOST_TEST(error["param"] == "model");
}

BOOST_AUTO_TEST_CASE(what_the_engine_refuses_is_told) {
  client.send({{"type", "submit"}, {"id", "a"}, {"prompt", std::string(2000, 'x')}});
  const Json error = client.until("error", "a");
  BOOST_TEST(error["status"] == 400);
  BOOST_TEST(error["param"].is_string());
  client.send({{"type", "submit"}, {"id", "b"}, {"prompt_ids", {1'000'000'000}}});
  BOOST_TEST(client.until("error", "b")["status"] == 400);
  check_alive();
}

BOOST_AUTO_TEST_CASE(a_living_id_is_refused_and_its_generation_goes_on) {
  client.send({{"type", "submit"}, {"id", "a"}, {"prompt", "x"}, {"window", 1}});
  client.until("token", "a");
  const Json error = refused(R"({"type":"submit","id":"a","prompt":"y"})");
  BOOST_TEST(error["id"] == "a");
  BOOST_TEST(error["param"] == "id");
  client.send({{"type", "credit"}, {"id", "a"}, {"tokens", 100}});
  BOOST_TEST(client.until("done", "a")["finish_reason"] == "stop");
  // Now it is free again.
  client.send({{"type", "submit"}, {"id", "a"}, {"prompt", "x"}});
  BOOST_TEST(read_answer(client, "a").text == "Hello");
}

BOOST_AUTO_TEST_CASE(unknown_ids_of_credit_and_cancel_are_no_errors) {
  client.send({{"type", "credit"}, {"id", "gone"}, {"tokens", 1}});
  client.send({{"type", "cancel"}, {"id", "gone"}});
  check_alive();
}

BOOST_AUTO_TEST_CASE(credit_without_a_window_is_refused) {
  Script script;
  script.fallback.text = "x";
  script.fallback.block_at = 0;
  script.probe = std::make_shared<ScriptedProbe>();
  TestServer blocked(make_scripted_model(script));
  WsClient peer(blocked.port());
  peer.send({{"type", "submit"}, {"id", "a"}, {"prompt", "x"}});
  script.probe->wait_until_blocked();
  peer.send({{"type", "credit"}, {"id", "a"}, {"tokens", 1}});
  BOOST_TEST(peer.until("error", "a")["param"] == "tokens");
  script.probe->release();
  BOOST_TEST(peer.until("done", "a")["finish_reason"] == "stop");
}

BOOST_AUTO_TEST_CASE(unserved_frames_are_refused) {
  BOOST_TEST(refused(R"({"type":"watch","every_ms":100})")["status"] == 400);
  BOOST_TEST(refused(R"({"type":"dance","id":"a"})")["id"] == "a");
  check_alive();
}

BOOST_AUTO_TEST_CASE(messages_may_come_in_fragments_with_pings_between) {
  const std::string text = R"({"type":"submit","id":"é","prompt":"x"})";
  std::string frames;
  for (std::size_t i = 0; i < text.size(); ++i) {
    frames += WsClient::frame(i == 0 ? 1 : 0, text.substr(i, 1), i + 1 == text.size());
    if (i == 5) frames += WsClient::frame(9, "P");
  }
  client.socket().send(frames);
  const WsFrame pong = client.next_frame();
  BOOST_TEST(pong.opcode == 10U);
  BOOST_TEST(pong.payload == "P");
  BOOST_TEST(read_answer(client, "é").text == "Hello");
}

BOOST_AUTO_TEST_CASE(protocol_violations_close_with_their_code) {
  const std::vector<std::pair<std::string, int>> cases = {
      {WsClient::frame(2, "binary"), 1003},
      {WsClient::frame(1, "\xC3\x28"), 1007},
      {WsClient::frame(0, "A"), 1002},
      {WsClient::frame(9, std::string(126, 'p')), 1002},
      {std::string("\x81\x02hi"), 1002},
      {WsClient::frame(3, ""), 1002},
      {std::string("\x82\xFF\x40\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00", 14), 1009}};
  for (const auto& [bytes, code] : cases) {
    WsClient rude(server.port());
    rude.socket().send(bytes);
    BOOST_TEST(rude.wait_close() == code);
  }
  check_alive();
}

BOOST_AUTO_TEST_CASE(the_close_handshake_is_answered) {
  client.send_close(1000);
  BOOST_TEST(client.wait_close() == 1000);
  client.socket().close();
  server.wait_connections(0);
}

BOOST_AUTO_TEST_CASE(handshakes_that_are_refused_say_why) {
  const auto status = [&](std::string_view fields) {
    return WsClient(server.port(), 0, fields).status();
  };
  BOOST_TEST(status("") == 101);
  BOOST_TEST(WsClient(server.port(), 0, "").header().find("Sec-WebSocket-Protocol") ==
             std::string::npos);
  BOOST_TEST(status("Sec-WebSocket-Protocol: chat, tickertape.v1\r\n") == 101);
  BOOST_TEST(status("Sec-WebSocket-Protocol: chat\r\nSec-WebSocket-Protocol: tickertape.v1\r\n") ==
             101);
  BOOST_TEST(status("Sec-WebSocket-Protocol: chat\r\n") == 400);
  BOOST_TEST(status("Origin: http://localhost\r\n") == 101);
  BOOST_TEST(status("Origin: http://evil.example\r\n") == 403);
  const HttpResult plain = get(server.port(), "/v1/stream");
  BOOST_TEST(plain.status == 426);
  BOOST_TEST(plain.header.find("Upgrade: websocket") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(compression_is_not_negotiated) {
  WsClient peer(server.port(), 0, "Sec-WebSocket-Extensions: permessage-deflate\r\n");
  BOOST_TEST(peer.status() == 101);
  BOOST_TEST(peer.header().find("permessage-deflate") == std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_CASE(ws_limits_are_those_of_the_options) {
  ServerOptions options;
  options.max_streams = 2;
  options.max_body = 1000;
  options.served_model_name = "served";
  TestServer server(says("Hello"), tiny_pool(), options);
  WsClient client(server.port());
  const Json hello = client.next();
  BOOST_TEST(hello["max_streams"] == 2);
  BOOST_TEST(hello["model"] == "served");
  for (const char* id : {"a", "b", "c"}) {
    client.send(
        {{"type", "submit"}, {"id", id}, {"prompt", "x"}, {"window", 1}, {"model", "served"}});
  }
  BOOST_TEST(client.until("error")["status"] == 429);
  client.send_text(std::string(1001, ' '));
  BOOST_TEST(client.wait_close() == 1009);
  server.wait_idle();
}

}  // namespace
}  // namespace tickertape::test
