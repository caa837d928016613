// Draining: what runs ends well, what comes late is refused, and it takes no longer than it may.
#include <boost/test/unit_test.hpp>
#include <future>
#include <string>

#include "tests/support/test_server.hpp"
#include "tests/support/ws_client.hpp"

namespace tickertape::test {
namespace {

struct Drain {
  explicit Drain(TestServer& server) {
    server.on_loop([&] { server.server().drain([this] { done_.set_value(); }); });
  }
  void wait() { done_.get_future().wait(); }

 private:
  std::promise<void> done_;
};

Json submit(const std::string& id) {
  return {{"type", "submit"},   {"id", id},    {"prompt", "x"},
          {"ignore_eos", true}, {"window", 1}, {"max_tokens", 10}};
}

BOOST_AUTO_TEST_SUITE(ws_drain)

BOOST_AUTO_TEST_CASE(running_generations_finish_and_new_work_is_refused) {
  TestServer server(make_paged_fake_model());
  WsClient idle(server.port());
  idle.until("hello");
  WsClient busy(server.port());
  busy.send(submit("a"));
  busy.until("token", "a");

  Drain drain(server);
  BOOST_TEST(idle.wait_close() == 1001);
  idle.send_close(1001);
  idle.socket().close();
  busy.send(submit("b"));
  BOOST_TEST(busy.until("error", "b")["status"] == 503);
  BOOST_TEST(WsClient(server.port()).status() == 503);
  const HttpResult ready = get(server.port(), "/ready");
  BOOST_TEST(ready.status == 503);
  BOOST_TEST(ready.body.find("draining") != std::string::npos);
  BOOST_TEST(get(server.port(), "/health").status == 200);

  busy.send({{"type", "credit"}, {"id", "a"}, {"tokens", 100}});
  const Json done = busy.until("done", "a");
  BOOST_TEST(done["finish_reason"] == "length");
  BOOST_TEST(done["usage"]["completion_tokens"] == 10);
  BOOST_TEST(busy.wait_close() == 1001);
  busy.send_close(1001);
  busy.socket().close();
  drain.wait();
}

BOOST_AUTO_TEST_CASE(after_the_deadline_the_rest_ends_as_shutdown) {
  ServerOptions options;
  options.drain_timeout_s = 0.1;
  TestServer server(make_paged_fake_model(), tiny_pool(), options);
  WsClient client(server.port());
  client.send(submit("a"));
  client.until("token", "a");
  Drain drain(server);
  BOOST_TEST(client.until("done", "a")["finish_reason"] == "shutdown");
  BOOST_TEST(client.wait_close() == 1001);
  client.send_close(1001);
  client.socket().close();
  drain.wait();
  server.wait_idle();
}

BOOST_AUTO_TEST_CASE(an_idle_server_drains_at_once) {
  TestServer server(make_paged_fake_model());
  Drain drain(server);
  drain.wait();
}

// It ignores the close frame; the time for a close ends it.
BOOST_AUTO_TEST_CASE(a_client_that_ignores_the_close_is_cut) {
  TestServer server(make_paged_fake_model());
  WsClient client(server.port());
  client.until("hello");
  Drain drain(server);
  drain.wait();
  BOOST_TEST(client.wait_close() == 1001);
  server.wait_connections(0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace tickertape::test
