// G05: tokens, errors, pongs of both kinds and a close share one WebSocket without a clash.
#include <boost/test/unit_test.hpp>
#include <functional>
#include <map>
#include <string>
#include <thread>

#include "tests/support/test_server.hpp"
#include "tests/support/ws_client.hpp"

namespace tickertape::test {
namespace {

constexpr int kRequests = 4;
constexpr int kPings = 20;

/// What has come back of a round.
struct Seen {
  std::map<std::string, Answer> answers;
  int control_pongs = 0;
  int pongs = 0;
  int errors = 0;
  int close_code = -1;
};

/// Reads until the connection is closed. Json::parse throws for anything that is not valid JSON.
Seen read_to_end(WsClient& client, const std::function<void(const Seen&)>& after_each) {
  Seen seen;
  while (seen.close_code < 0) {
    const WsFrame frame = client.next_frame();
    if (frame.opcode == 0 || frame.opcode == 8) {
      seen.close_code = frame.close_code();
    } else if (frame.opcode == 10) {
      ++seen.control_pongs;
    } else if (frame.opcode == 1) {
      const Json message = Json::parse(frame.payload);
      const std::string type = message.at("type");
      if (type == "pong") ++seen.pongs;
      if (type == "error") ++seen.errors;
      if (message.contains("id")) add_frame(seen.answers[message["id"]], message);
    }
    after_each(seen);
  }
  return seen;
}

void submit_all(WsClient& client, int max_tokens) {
  for (int i = 0; i < kRequests; ++i) {
    client.send({{"type", "submit"},
                 {"id", std::to_string(i)},
                 {"prompt_ids", {3 + i}},
                 {"ignore_eos", true},
                 {"max_tokens", max_tokens},
                 {"logprobs", 20}});
  }
}

/// Pings of both kinds and frames that are refused, as fast as they can be sent.
void disturb(WsClient& client) {
  for (int i = 0; i < kPings; ++i) {
    client.socket().send(WsClient::frame(9, "p"));
    client.send({{"type", "ping"}});
    client.send_text("nonsense");
  }
}

BOOST_AUTO_TEST_SUITE(g05)

BOOST_AUTO_TEST_CASE(g05_everything_at_once_arrives_whole) {
  TestServer server(make_paged_fake_model(), large_pool());
  for (int round = 0; round < 10; ++round) {
    WsClient client(server.port());
    submit_all(client, 100);
    std::thread disturber([&] { disturb(client); });
    int done = 0;
    bool closed = false;
    const Seen seen = read_to_end(client, [&](const Seen& now) {
      done = 0;
      for (const auto& [id, answer] : now.answers) done += answer.done.is_null() ? 0 : 1;
      const bool all = done == kRequests && now.control_pongs == kPings && now.pongs == kPings &&
                       now.errors == kPings;
      if (all && !closed) client.send_close();
      closed = closed || all;
    });
    disturber.join();
    BOOST_TEST(seen.close_code == 1000);
    for (const auto& [id, answer] : seen.answers) {
      BOOST_TEST(answer.trouble == "");
      BOOST_TEST(answer.tokens.size() == 100U);
    }
  }
  server.wait_idle();
}

BOOST_AUTO_TEST_CASE(g05_a_close_in_the_middle) {
  TestServer server(make_paged_fake_model(), large_pool());
  for (int round = 0; round < 90; ++round) {
    WsClient client(server.port());
    submit_all(client, 2000);
    disturb(client);
    client.send_close();
    const Seen seen = read_to_end(client, [](const Seen&) {});
    BOOST_TEST(seen.close_code == 1000);
    for (const auto& [id, answer] : seen.answers) BOOST_TEST(answer.trouble == "");
  }
  server.wait_connections(0);
  server.wait_idle();
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace tickertape::test
