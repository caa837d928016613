// Readers that are slow, stopped or greedy: windows, credit and bounded memory.
#include <boost/test/unit_test.hpp>
#include <map>
#include <string>
#include <vector>

#include "tests/support/test_server.hpp"
#include "tests/support/ws_client.hpp"

namespace tickertape::test {
namespace {

/// Token frames that come before the answer to a ping: all that the window allowed.
int tokens_before_pong(WsClient& client) {
  client.send({{"type", "ping"}});
  int count = 0;
  for (;;) {
    const Json message = client.next();
    if (message["type"] == "pong") return count;
    count += message["type"] == "token" ? 1 : 0;
  }
}

void wait_parked(TestServer& server, std::uint64_t count) {
  server.wait_for([&](const EngineStats& stats) { return stats.num_parked == count; });
}

Json endless(const std::string& id, int max_tokens) {
  return {{"type", "submit"}, {"id", id},           {"prompt_ids", {7, 8, 9}},
          {"temperature", 0}, {"ignore_eos", true}, {"max_tokens", max_tokens}};
}

std::vector<int> endless_tokens(std::uint32_t max_tokens) {
  SamplingParams params;
  params.temperature = 0;
  params.ignore_eos = true;
  const TokenId prompt[] = {7, 8, 9};
  return paged_fake_expected(prompt, params, 0, 0, max_tokens, PagedFakeOptions());
}

BOOST_AUTO_TEST_SUITE(ws_backpressure)

BOOST_AUTO_TEST_CASE(a_window_is_the_number_of_tokens_without_credit) {
  TestServer server(make_paged_fake_model());
  WsClient client(server.port());
  Json submit = endless("a", 20);
  submit["window"] = 3;
  client.send(submit);
  client.until("accepted");
  wait_parked(server, 1);
  BOOST_TEST(tokens_before_pong(client) == 3);
  BOOST_TEST(server.engine().stats().num_parked == 1U);
  client.send({{"type", "credit"}, {"id", "a"}, {"tokens", 2}});
  server.wait_for([](const EngineStats& stats) {
    return stats.num_parked == 1 && stats.generation_tokens >= 5;
  });
  BOOST_TEST(tokens_before_pong(client) == 2);
  client.send({{"type", "credit"}, {"id", "a"}, {"tokens", 1000}});
  const Json done = client.until("done", "a");
  BOOST_TEST(done["usage"]["completion_tokens"] == 20);
  BOOST_TEST(done["finish_reason"] == "length");
}

BOOST_AUTO_TEST_CASE(without_a_window_a_plain_reader_gets_everything) {
  TestServer server(make_paged_fake_model(), large_pool());
  WsClient client(server.port());
  client.until("hello");
  client.send(endless("a", 1000));
  const Answer answer = read_answer(client, "a");
  BOOST_TEST(answer.trouble == "");
  BOOST_TEST(answer.tokens == endless_tokens(1000), boost::test_tools::per_element());
}

// A stopped reader is parked while others run to their ends; nothing of its answer is lost.
BOOST_AUTO_TEST_CASE(a_stopped_reader_stops_only_itself) {
  constexpr int kStopped = 4;
  constexpr std::uint32_t kTokens = 3000;
  ServerOptions options;
  options.max_write_buffer = 32U << 10;
  TestServer server(make_paged_fake_model(), large_pool(), options);
  WsClient stopped(server.port(), 4096);
  for (int i = 0; i < kStopped; ++i) {
    Json submit = endless(std::to_string(i), kTokens);
    submit["logprobs"] = true;
    submit["top_logprobs"] = 20;
    stopped.send(submit);
  }
  wait_parked(server, kStopped);
  WsClient reader(server.port());
  reader.until("hello");
  for (int round = 0; round < 20; ++round) {
    reader.send(endless("r", 100));
    BOOST_TEST(read_answer(reader, "r").tokens == endless_tokens(100),
               boost::test_tools::per_element());
  }
  // What the sockets hold, the outbox and the windows: far from all of it.
  wait_parked(server, kStopped);
  const std::uint64_t others = 20 * 100;
  BOOST_TEST(server.engine().stats().generation_tokens <
             others + std::uint64_t{kStopped} * kTokens / 4);

  std::map<std::string, Answer> answers;
  for (int done = 0; done < kStopped;) {
    const Json message = stopped.next();
    if (message["type"] == "hello") continue;
    add_frame(answers[message.at("id")], message);
    done += message["type"] == "done" ? 1 : 0;
  }
  for (const auto& [id, answer] : answers) {
    BOOST_TEST(answer.trouble == "");
    BOOST_TEST(answer.tokens == endless_tokens(kTokens), boost::test_tools::per_element());
  }
  server.wait_idle();
}

BOOST_AUTO_TEST_CASE(a_stopped_reader_that_goes_away_frees_its_pages) {
  ServerOptions options;
  options.max_write_buffer = 32U << 10;
  TestServer server(make_paged_fake_model(), large_pool(), options);
  for (const bool with_reset : {false, true}) {
    WsClient stopped(server.port(), 4096);
    Json submit = endless("a", 10'000);
    submit["logprobs"] = 20;
    stopped.send(submit);
    wait_parked(server, 1);
    if (with_reset) {
      stopped.socket().reset();
    } else {
      stopped.socket().close();
    }
    server.wait_idle();
    server.wait_connections(0);
  }
}

// Somebody who asks without reading the answers gets one buffer full of them and no more.
BOOST_AUTO_TEST_CASE(a_flood_of_pings_without_reading_is_cut) {
  ServerOptions options;
  options.max_write_buffer = 4096;
  TestServer server(make_paged_fake_model(), tiny_pool(), options);
  WsClient flood(server.port(), 4096);
  Json submit = endless("a", 100);
  submit["window"] = 1;
  flood.send(submit);
  wait_parked(server, 1);
  std::string pings;
  for (int i = 0; i < 1000; ++i) pings += WsClient::frame(1, R"({"type":"ping"})");
  int batches = 0;
  while (batches < 2000 && flood.socket().send(pings)) ++batches;
  BOOST_TEST(batches < 2000);
  server.wait_idle();
  server.wait_connections(0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace tickertape::test
