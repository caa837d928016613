// Client against servers that refuse, vanish, lie or say nothing.
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/test/unit_test.hpp>
#include <functional>
#include <limits>
#include <string>
#include <thread>
#include <utility>

#include <tickertape/client.hpp>

#include "tests/support/fake_ws_server.hpp"

namespace tickertape::test {
namespace {

namespace asio = boost::asio;
using Json = nlohmann::json;

/// A client on its io_context, and a fake server on a thread.
struct Fixture {
  Fixture() {
    options.url = server.url();
    options.api_key = "secret";
  }

  /// Runs both sides to their ends.
  void run(const std::function<void()>& serve,
           const std::function<asio::awaitable<void>(Client&)>& use) {
    std::thread thread(serve);
    Client client(io.get_executor(), options);
    asio::co_spawn(io, use(client), [&](std::exception_ptr error) {
      client.close();
      if (error) std::rethrow_exception(error);
    });
    io.run();
    io.restart();
    thread.join();
  }

  FakeWsServer server;
  ClientOptions options;
  asio::io_context io;
};

Request some_request() {
  Request request;
  request.prompt = "x";
  request.window = 8;
  return request;
}

/// Submits and reads to the end.
asio::awaitable<void> generate(Client& client, error_code& submitted, std::string& text,
                               Finish& finish) {
  auto token = asio::redirect_error(asio::use_awaitable, submitted);
  TokenStream stream = co_await client.async_submit(some_request(), token);
  while (auto next = co_await stream.async_next(asio::use_awaitable)) text += next->text;
  finish = stream.finish();
}

struct Outcome {
  error_code submitted;
  std::string text;
  Finish finish;
  [[nodiscard]] bool says(const std::string& what) const {
    BOOST_TEST_INFO(finish.error.message);
    return finish.error.message.find(what) != std::string::npos;
  }
};

asio::awaitable<void> generate(Client& client, Outcome& out) {
  co_await generate(client, out.submitted, out.text, out.finish);
}

asio::awaitable<void> generate_thrice(Client& client, Outcome& first, Outcome& second,
                                      Outcome& third, ErrorInfo& last) {
  co_await generate(client, first);
  co_await generate(client, second);
  co_await generate(client, third);
  last = client.last_error();
}

asio::awaitable<void> connect(Client& client, error_code& connected, ErrorInfo& last) {
  auto token = asio::redirect_error(asio::use_awaitable, connected);
  co_await client.async_connect(token);
  last = client.last_error();
}

asio::awaitable<void> connect_and_generate(Client& client, error_code& connected, Outcome& out) {
  ErrorInfo ignored;
  co_await connect(client, connected, ignored);
  co_await generate(client, out);
}

/// Reads as generate() does, and gives no credit.
asio::awaitable<void> generate_without_credit(Client& client, Outcome& out) {
  auto token = asio::redirect_error(asio::use_awaitable, out.submitted);
  Request request = some_request();
  request.manual_credit = true;
  TokenStream stream = co_await client.async_submit(std::move(request), token);
  while (co_await stream.async_next(asio::use_awaitable)) out.text += 'x';
  out.finish = stream.finish();
}

/// Submits, and cancels the call two turns later.
asio::awaitable<void> submit_and_cancel(Client& client, error_code& outcome) {
  co_await client.async_connect(asio::use_awaitable);
  asio::cancellation_signal stop;
  auto handler =
      asio::bind_cancellation_slot(stop.slot(), [&](error_code error, TokenStream stream) {
        outcome = stream ? make_error_code(Errc::internal) : error;
        client.close();
      });
  client.async_submit(some_request(), std::move(handler));
  co_await asio::post(asio::use_awaitable);
  co_await asio::post(asio::use_awaitable);
  stop.emit(asio::cancellation_type::terminal);
  while (!outcome) co_await asio::post(asio::use_awaitable);
}

BOOST_FIXTURE_TEST_SUITE(client_faults, Fixture)

BOOST_AUTO_TEST_CASE(the_upgrade_asks_for_the_protocol_with_the_key) {
  std::string header;
  Outcome out;
  run(
      [&] {
        FakeWsConnection peer = server.accept_ready();
        header = peer.header();
        const Json submit = peer.next();
        BOOST_TEST(submit["type"] == "submit");
        BOOST_TEST(submit["window"] == 8);
        const std::string id = submit["id"];
        peer.send_accepted(id);
        peer.send_token(id, 0, "a");
        peer.send({{"type", "done"},
                   {"id", id},
                   {"index", 0},
                   {"finish_reason", "stop"},
                   {"stop_reason", "\n"},
                   {"final", true},
                   {"usage", {{"prompt_tokens", 1}, {"completion_tokens", 1}}}});
        BOOST_TEST(peer.next().is_null());
        BOOST_TEST(peer.close_code() == 1000);
      },
      [&](Client& client) { return generate(client, out); });
  BOOST_TEST(header.starts_with("GET /v1/stream HTTP/1.1\r\n"));
  BOOST_TEST(header.find("Host: 127.0.0.1:" + std::to_string(server.port()) + "\r\n") !=
             std::string::npos);
  BOOST_TEST(header.find("Authorization: Bearer secret\r\n") != std::string::npos);
  BOOST_TEST(header.find("Sec-WebSocket-Protocol: tickertape.v1\r\n") != std::string::npos);
  BOOST_TEST(!out.submitted);
  BOOST_TEST(out.text == "a");
  BOOST_REQUIRE(out.finish.choices.size() == 1U);
  BOOST_TEST(out.finish.choices[0].stop == "\n");
}

BOOST_AUTO_TEST_CASE(a_lost_connection_ends_all_streams_and_the_next_submit_connects_again) {
  Outcome first;
  Outcome second;
  Outcome third;
  ErrorInfo last;
  run(
      [&] {
        for (int round = 0; round < 2; ++round) {
          FakeWsConnection peer = server.accept_ready();
          const std::string id = peer.next()["id"];
          peer.send_accepted(id);
          for (int i = 0; i < 4; ++i) peer.send_token(id, i, "a");
          // Half a window: the tokens were read, so that a reset cannot lose them.
          BOOST_TEST(peer.next()["tokens"] == 4);
          if (round == 0) {
            peer.socket().reset();
          } else {
            peer.socket().send(FakeWsConnection::frame(8, std::string("\x03\xE9") + "bye"));
            peer.next();
          }
        }
        FakeWsConnection peer = server.accept();
        peer.read_upgrade();
        peer.socket().send(
            "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 42\r\n\r\n"
            R"({"error":{"message":"draining","code":""}})");
        peer.socket().shutdown_send();
        peer.socket().read_all();
      },
      [&](Client& client) { return generate_thrice(client, first, second, third, last); });
  for (const Outcome* out : {&first, &second}) {
    BOOST_TEST(!out->submitted);
    BOOST_TEST(out->text == "aaaa");
    BOOST_TEST((out->finish.reason == FinishReason::error));
    BOOST_TEST((out->finish.error.code == Errc::connection_lost));
    BOOST_TEST(out->finish.usage.completion_tokens == 4U);
    BOOST_TEST(out->says(server.url() + "/v1/stream was lost"));
  }
  BOOST_TEST(second.says("code 1001: bye"));
  BOOST_TEST(third.submitted == make_error_code(Errc::connection_lost));
  BOOST_TEST(third.says("refused with HTTP status 503: draining"));
  BOOST_TEST(last.message == third.finish.error.message);
}

BOOST_AUTO_TEST_CASE(nobody_listens) {
  {
    FakeWsServer gone;
    options.url = gone.url();
  }
  error_code connected;
  Outcome out;
  run([] {}, [&](Client& client) { return connect_and_generate(client, connected, out); });
  BOOST_TEST(connected == asio::error::connection_refused);
  BOOST_TEST(out.submitted == make_error_code(Errc::connection_lost));
  BOOST_TEST(out.says("no connection to " + options.url + "/v1/stream: cannot connect"));
}

BOOST_AUTO_TEST_CASE(a_server_that_says_nothing_is_given_up) {
  options.connect_timeout_s = 0.05;
  error_code connected;
  ErrorInfo last;
  const auto use = [&](Client& client) { return connect(client, connected, last); };
  run([&] { server.accept().socket().read_all(); }, use);
  BOOST_TEST(connected == asio::error::timed_out);
  BOOST_TEST(last.message.find("no answer within 0.05 s") != std::string::npos);
  run(
      [&] {
        FakeWsConnection peer = server.accept();
        peer.read_upgrade();
        peer.accept_upgrade();
        peer.socket().read_all();
      },
      use);
  BOOST_TEST(connected == asio::error::timed_out);
}

BOOST_AUTO_TEST_CASE(a_server_that_falls_silent_is_lost) {
  options.idle_timeout_s = 0.1;
  Outcome out;
  run(
      [&] {
        FakeWsConnection peer = server.accept_ready();
        peer.send_accepted(peer.next()["id"]);
        peer.socket().read_all();  // Pings are not answered.
      },
      [&](Client& client) { return generate(client, out); });
  BOOST_TEST((out.finish.error.code == Errc::connection_lost));
  BOOST_TEST(out.says("idle_timeout_s"));
}

BOOST_AUTO_TEST_CASE(what_is_no_tickertape_ends_the_connection) {
  using Serve = std::function<void(FakeWsConnection&)>;
  const auto after_accepted = [](auto&& act) {
    return Serve([act](FakeWsConnection& peer) {
      peer.send_hello();
      const std::string id = peer.next()["id"];
      peer.send_accepted(id);
      act(peer, id);
    });
  };
  const std::pair<Serve, const char*> cases[] = {
      {[](FakeWsConnection& peer) { peer.send({{"type", "pong"}}); }, "no tickertape.v1 server"},
      {[](FakeWsConnection& peer) { peer.send({{"type", "hello"}, {"protocol", "other"}}); },
       "no tickertape.v1 server"},
      {[](FakeWsConnection& peer) { peer.socket().send(FakeWsConnection::frame(1, "<html>")); },
       "the server sent the text is not valid JSON"},
      {after_accepted([](FakeWsConnection& peer, const std::string& id) {
         peer.send({{"type", "token"}, {"id", id}});
       }),
       "token without a valid index"},
      {after_accepted(
           [](FakeWsConnection& peer, const std::string& id) { peer.send_token(id, 1, "gap"); }),
       "does not fit its generation"},
      {after_accepted(
           [](FakeWsConnection& peer, const std::string& id) { peer.send_accepted(id); }),
       "does not fit its generation"},
      {after_accepted([](FakeWsConnection& peer, const std::string& id) {
         peer.send({{"type", "done"}, {"id", id}, {"index", 1}, {"finish_reason", "stop"}});
       }),
       "done frame that does not fit"}};
  for (const auto& [serve, what] : cases) {
    Outcome out;
    run(
        [&] {
          FakeWsConnection peer = server.accept();
          peer.read_upgrade();
          peer.accept_upgrade();
          serve(peer);
          while (!peer.next().is_null()) {
          }
          BOOST_TEST(peer.close_code() == 1002);
        },
        [&](Client& client) { return generate(client, out); });
    BOOST_TEST((out.finish.error.code == Errc::connection_lost));
    BOOST_TEST(out.says(what), what);
  }
}

BOOST_AUTO_TEST_CASE(a_server_that_ignores_the_window_is_left) {
  Outcome out;
  run(
      [&] {
        FakeWsConnection peer = server.accept_ready();
        const std::string id = peer.next()["id"];
        peer.send_accepted(id);
        for (int i = 0; i < 9; ++i) peer.send_token(id, i, "x");
        while (!peer.next().is_null()) {
        }
        BOOST_TEST(peer.close_code() == 1002);
      },
      [&](Client& client) { return generate_without_credit(client, out); });
  BOOST_TEST(out.text == std::string(8, 'x'));
  BOOST_TEST((out.finish.error.code == Errc::connection_lost));
}

BOOST_AUTO_TEST_CASE(unknown_frames_and_ids_mean_nothing) {
  Outcome out;
  run(
      [&] {
        FakeWsConnection peer = server.accept_ready();
        const std::string id = peer.next()["id"];
        peer.send({{"type", "tick"}, {"rows", Json::array()}});
        peer.send_accepted("somebody else");
        peer.send_accepted(id);
        peer.send_token("somebody else", 5, "no");
        peer.send({{"type", "error"}, {"status", 400}, {"message", "nobody's"}});
        peer.send({{"type", "error"}, {"id", id}, {"status", 400}, {"message", "a frame of it"}});
        peer.socket().send(FakeWsConnection::frame(9, "ping"));
        peer.send_token(id, 0, "yes");
        peer.send({{"type", "done"},
                   {"id", id},
                   {"index", 0},
                   {"finish_reason", "length"},
                   {"final", true},
                   {"usage", {{"prompt_tokens", 1}, {"completion_tokens", 1}}}});
        BOOST_TEST(peer.next().is_null());
      },
      [&](Client& client) { return generate(client, out); });
  BOOST_TEST(out.text == "yes");
  BOOST_TEST((out.finish.reason == FinishReason::length));
}

BOOST_AUTO_TEST_CASE(a_submit_that_is_never_answered_can_be_cancelled) {
  error_code outcome;
  run(
      [&] {
        FakeWsConnection peer = server.accept_ready();
        const std::string id = peer.next()["id"];
        const Json cancel = peer.next();
        BOOST_TEST(cancel["type"] == "cancel");
        BOOST_TEST(cancel["id"] == id);
        peer.next();
      },
      [&](Client& client) { return submit_and_cancel(client, outcome); });
  BOOST_TEST(outcome == asio::error::operation_aborted);
}

BOOST_AUTO_TEST_CASE(options_are_checked) {
  const auto param_of = [&](auto&& change) {
    ClientOptions bad;
    change(bad);
    try {
      const Client client(io.get_executor(), bad);
    } catch (const Error& error) {
      return error.info().param;
    }
    return std::string();
  };
  BOOST_TEST(param_of([](ClientOptions& o) { o.url = "nonsense"; }) == "url");
  BOOST_TEST(param_of([](ClientOptions& o) { o.api_key = "a\r\nX: y"; }) == "api_key");
  BOOST_TEST(param_of([](ClientOptions& o) { o.connect_timeout_s = 0; }) == "connect_timeout_s");
  BOOST_TEST(param_of([](ClientOptions& o) { o.idle_timeout_s = -1; }) == "idle_timeout_s");
  BOOST_TEST(param_of([](ClientOptions& o) {
               o.close_timeout_s = std::numeric_limits<double>::quiet_NaN();
             }) == "close_timeout_s");
  BOOST_TEST(param_of([](ClientOptions& o) { o.max_message = 0; }) == "max_message");
  BOOST_TEST(param_of([](ClientOptions&) {}) == "");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace tickertape::test
