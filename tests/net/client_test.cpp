// Client against the real server: the same streams as an engine gives.
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/unit_test.hpp>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <tickertape/client.hpp>

#include "tests/support/test_server.hpp"

namespace tickertape::test {
namespace {

namespace asio = boost::asio;

/// Everything that a reader sees of one generation.
struct Seen {
  error_code submitted;
  std::vector<Token> tokens;
  Accepted accepted;
  Finish finish;
  std::string text;
};

/// Submits through `source`, an Engine or a Client, and reads to the end.
template <class Source>
asio::awaitable<void> read_all(Source& source, Request request, Seen& seen) {
  auto token = asio::redirect_error(asio::use_awaitable, seen.submitted);
  TokenStream stream = co_await source.async_submit(std::move(request), token);
  seen.accepted = stream.accepted();
  while (auto next = co_await stream.async_next(asio::use_awaitable)) {
    seen.text += next->text;
    seen.tokens.push_back(std::move(*next));
  }
  seen.finish = stream.finish();
}

template <class Source>
asio::awaitable<void> read_many(Source& source, const std::vector<Request>& requests,
                                std::vector<Seen>& seen) {
  std::size_t left = requests.size();
  const auto executor = co_await asio::this_coro::executor;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    asio::co_spawn(executor, read_all(source, requests[i], seen[i]),
                   [&left](std::exception_ptr error) {
                     if (error) std::rethrow_exception(error);
                     --left;
                   });
  }
  while (left > 0) co_await asio::post(executor, asio::use_awaitable);
}

void rethrow(std::exception_ptr error) {
  if (error) std::rethrow_exception(error);
}

std::string url_of(const TestServer& server) {
  return "ws://127.0.0.1:" + std::to_string(server.port());
}

ClientOptions options_for(const TestServer& server) {
  ClientOptions options;
  options.url = url_of(server);
  return options;
}

Request request_of(int number) {
  Request request;
  for (int i = 0; i <= number % 40; ++i) {
    request.prompt_ids.push_back(1 + (number * 37 + i * 11) % 900);
  }
  request.sampling.temperature = number % 2;
  request.sampling.seed = static_cast<std::uint64_t>(number);
  request.sampling.logprobs = number % 3 - 1;
  request.sampling.ignore_eos = true;
  request.max_tokens = static_cast<std::uint32_t>(20 + number);
  request.window = number % 5 == 0 ? 1 : 64;
  return request;
}

/// A client on an io_context of its own, which run() runs until nothing is left to do.
struct Fixture {
  explicit Fixture(std::shared_ptr<const Model> model = make_paged_fake_model(),
                   EngineOptions engine = large_pool(), ServerOptions server_options = {})
      : server(std::move(model), std::move(engine), std::move(server_options)),
        client(io.get_executor(), options_for(server)) {}

  /// Runs one coroutine to its end, then closes the client and runs what is left.
  void run(asio::awaitable<void> work) {
    asio::co_spawn(io, std::move(work), [this](std::exception_ptr error) {
      client.close();
      rethrow(error);
    });
    io.run();
    io.restart();
  }

  Seen submit(Request request) {
    Seen seen;
    run(read_all(client, std::move(request), seen));
    return seen;
  }

  TestServer server;
  asio::io_context io;
  Client client;
};

Script repeating(const std::string& text) {
  Script script;
  script.fallback.text = text;
  script.fallback.repeat = true;
  return script;
}

Request endless(std::uint32_t window = 64) {
  Request request;
  request.prompt = "x";
  request.max_tokens = 100000;
  request.window = window;
  return request;
}

BOOST_AUTO_TEST_SUITE(client)

void check_same(const Seen& remote, const Seen& local) {
  BOOST_TEST(!remote.submitted);
  BOOST_TEST(remote.text == local.text);
  BOOST_REQUIRE(remote.tokens.size() == local.tokens.size());
  for (std::size_t i = 0; i < local.tokens.size(); ++i) {
    const Token& a = remote.tokens[i];
    const Token& b = local.tokens[i];
    BOOST_TEST((a.id == b.id && a.text == b.text && a.index == b.index && a.seq == b.seq &&
                a.logprob == b.logprob && a.top_logprobs == b.top_logprobs &&
                a.finish_reason == b.finish_reason),
               "token " << i);
  }
  BOOST_TEST(remote.accepted.prompt_tokens == local.accepted.prompt_tokens);
  BOOST_TEST(remote.accepted.max_tokens == local.accepted.max_tokens);
  BOOST_TEST(remote.accepted.seed == local.accepted.seed);
  BOOST_TEST(remote.accepted.prompt_ids == local.accepted.prompt_ids);
  BOOST_TEST((remote.finish.reason == local.finish.reason));
  BOOST_TEST(remote.finish.usage.prompt_tokens == local.finish.usage.prompt_tokens);
  BOOST_TEST(remote.finish.usage.completion_tokens == local.finish.usage.completion_tokens);
  BOOST_TEST(remote.finish.timings.ticks == local.finish.timings.ticks);
}

BOOST_AUTO_TEST_CASE(one_generation_is_what_the_engine_gives) {
  Fixture fixture;
  for (const int number : {1, 2, 3, 5}) {
    Client again(fixture.io.get_executor(), options_for(fixture.server));
    Seen remote;
    Seen local;
    asio::co_spawn(fixture.io, read_all(again, request_of(number), remote), [&](auto error) {
      again.close();
      rethrow(error);
    });
    asio::co_spawn(fixture.io, read_all(fixture.server.engine(), request_of(number), local),
                   rethrow);
    fixture.io.run();
    fixture.io.restart();
    check_same(remote, local);
    BOOST_TEST(again.hello().value().max_streams == 256U);
  }
}

BOOST_AUTO_TEST_CASE(many_generations_share_a_connection) {
  Fixture fixture;
  std::vector<Request> requests;
  for (int i = 0; i < 32; ++i) requests.push_back(request_of(i));
  std::vector<Seen> seen(requests.size());
  fixture.run(read_many(fixture.client, requests, seen));
  for (int i = 0; i < 32; ++i) {
    const Seen& one = seen[static_cast<std::size_t>(i)];
    const Request& request = requests[static_cast<std::size_t>(i)];
    std::vector<int> ids;
    for (const Token& token : one.tokens) ids.push_back(token.id);
    BOOST_TEST(
        ids == paged_fake_expected(request.prompt_ids, request.sampling, *request.sampling.seed, 0,
                                   request.max_tokens, PagedFakeOptions()),
        boost::test_tools::per_element());
    BOOST_TEST((one.finish.reason == FinishReason::length));
  }
  fixture.server.wait_connections(0);
}

BOOST_AUTO_TEST_CASE(refusals_say_what_the_server_said) {
  ServerOptions options;
  options.max_body = 1000;
  Fixture fixture(make_paged_fake_model(), large_pool(), options);
  Request bad = request_of(1);
  bad.sampling.temperature = 3;
  Request foreign = request_of(1);
  foreign.prompt_ids = {1'000'000};
  Request longer = request_of(1);
  longer.prompt_ids.assign(1000, 5);
  std::vector<Seen> seen(4);
  fixture.run(read_many(fixture.client, {bad, foreign, longer, request_of(3)}, seen));
  const char* params[] = {"temperature", "prompt_ids", "prompt"};
  for (std::size_t i = 0; i < 3; ++i) {
    BOOST_TEST(seen[i].submitted == make_error_code(Errc::invalid_request));
    BOOST_TEST((seen[i].finish.reason == FinishReason::error));
    BOOST_TEST(seen[i].finish.error.param == params[i]);
    BOOST_TEST(!seen[i].finish.error.message.empty());
  }
  BOOST_TEST((seen[3].finish.reason == FinishReason::length));
}

asio::awaitable<void> fill_the_queue(Fixture& fixture) {
  std::vector<TokenStream> streams;
  error_code last;
  while (!last) {
    auto token = asio::redirect_error(asio::use_awaitable, last);
    streams.push_back(co_await fixture.client.async_submit(endless(1), token));
  }
  BOOST_TEST(last == make_error_code(Errc::queue_full));
  BOOST_TEST(streams.back().finish().error.retry_after > 0);
}

BOOST_AUTO_TEST_CASE(a_queue_that_is_full_says_when_to_come_back) {
  EngineOptions engine = tiny_pool();
  engine.max_num_seqs = 1;
  engine.max_queued_requests = 1;
  Fixture fixture(make_scripted_model(repeating("x")), engine);
  fixture.run(fill_the_queue(fixture));
}

asio::awaitable<void> cancel_and_drop(Fixture& fixture) {
  TokenStream kept = co_await fixture.client.async_submit(endless(), asio::use_awaitable);
  {
    TokenStream dropped = co_await fixture.client.async_submit(endless(), asio::use_awaitable);
    co_await dropped.async_next(asio::use_awaitable);
  }
  co_await kept.async_next(asio::use_awaitable);
  kept.cancel();
  while (co_await kept.async_next(asio::use_awaitable)) {
  }
  BOOST_TEST((kept.finish().reason == FinishReason::cancelled));
  BOOST_TEST(kept.done());
}

BOOST_AUTO_TEST_CASE(cancel_and_drop_end_the_generation) {
  Fixture fixture(make_scripted_model(repeating("x")));
  fixture.run(cancel_and_drop(fixture));
  fixture.server.wait_idle();
  const auto& finished = fixture.server.engine().stats().finished;
  BOOST_TEST(finished[static_cast<std::size_t>(FinishReason::cancelled)] == 2U);
}

asio::awaitable<void> read_late(Fixture& fixture) {
  Request request = endless(4);
  request.max_tokens = 300;
  TokenStream stream =
      co_await fixture.client.async_submit(std::move(request), asio::use_awaitable);
  fixture.server.wait_for([](const EngineStats& stats) { return stats.num_parked == 1; });
  std::string text;
  while (auto token = co_await stream.async_next(asio::use_awaitable)) text += token->text;
  BOOST_TEST(text.size() == 300U);
  BOOST_TEST(text.starts_with("abcabc"));
}

BOOST_AUTO_TEST_CASE(a_reader_that_does_not_read_is_parked_and_gets_everything_later) {
  Fixture fixture(make_scripted_model(repeating("abc")));
  fixture.run(read_late(fixture));
}

asio::awaitable<void> give_credit(Fixture& fixture) {
  Request request = endless(2);
  request.manual_credit = true;
  TokenStream stream =
      co_await fixture.client.async_submit(std::move(request), asio::use_awaitable);
  const auto parked = [](const EngineStats& stats) { return stats.num_parked == 1; };
  std::size_t read = 0;
  for (const std::uint32_t credit : {2U, 3U, 70'000U}) {
    if (credit != 2) stream.add_credit(credit);
    if (credit > 1000) break;
    while (read < (credit == 2 ? 2U : 5U)) {
      read += (co_await stream.async_next_batch(asio::use_awaitable)).size();
    }
    fixture.server.wait_for(parked);
    BOOST_TEST(read == (credit == 2 ? 2U : 5U));
  }
  while (read < 300) read += (co_await stream.async_next_batch(asio::use_awaitable)).size();
}

BOOST_AUTO_TEST_CASE(with_manual_credit_only_add_credit_gives_more) {
  Fixture fixture(make_scripted_model(repeating("x")));
  fixture.run(give_credit(fixture));
}

BOOST_AUTO_TEST_CASE(preemptions_are_told) {
  Fixture fixture(make_paged_fake_model(), tiny_pool());
  std::vector<Request> requests;
  int preempted = 0;
  int resumed = 0;
  for (int i = 0; i < 6; ++i) {
    Request request;
    request.prompt_ids.assign(60, 5 + i);
    request.max_tokens = 200;
    request.sampling.temperature = 0;
    request.sampling.ignore_eos = true;
    request.on_notice = [&](const Notice& notice) {
      ++(notice.kind == Notice::Kind::preempted ? preempted : resumed);
    };
    requests.push_back(std::move(request));
  }
  std::vector<Seen> seen(requests.size());
  fixture.run(read_many(fixture.client, requests, seen));
  std::uint32_t sum = 0;
  for (const Seen& one : seen) sum += one.finish.timings.preemptions;
  BOOST_TEST(sum > 0U);
  BOOST_TEST(preempted == static_cast<int>(sum));
  BOOST_TEST(resumed == preempted);
}

asio::awaitable<void> close_early(Fixture& fixture) {
  TokenStream stream = co_await fixture.client.async_submit(endless(), asio::use_awaitable);
  fixture.client.close();
  while (co_await stream.async_next(asio::use_awaitable)) {
  }
  BOOST_TEST((stream.finish().reason == FinishReason::shutdown));
  error_code error;
  auto token = asio::redirect_error(asio::use_awaitable, error);
  const TokenStream late = co_await fixture.client.async_submit(endless(), token);
  BOOST_TEST(error == make_error_code(Errc::shutting_down));
  co_await fixture.client.async_connect(token);
  BOOST_TEST(error == make_error_code(Errc::shutting_down));
}

BOOST_AUTO_TEST_CASE(close_ends_what_runs_and_refuses_what_comes) {
  Fixture fixture(make_scripted_model(repeating("x")));
  fixture.run(close_early(fixture));
  fixture.server.wait_connections(0);
}

BOOST_AUTO_TEST_CASE(handlers_never_run_inside_the_initiating_call) {
  Fixture fixture(make_scripted_model(repeating("x")));
  bool inside = false;
  int called = 0;
  inside = true;
  fixture.client.async_connect([&](error_code error) {
    BOOST_TEST(!error);
    BOOST_TEST(!inside);
    ++called;
    inside = true;
    fixture.client.async_connect([&](error_code again) {  // There is a connection already.
      BOOST_TEST(!again);
      BOOST_TEST(!inside);
      ++called;
    });
    Request bad = endless();
    bad.sampling.temperature = std::numeric_limits<double>::infinity();
    fixture.client.async_submit(std::move(bad), [&](error_code refused, TokenStream stream) {
      BOOST_TEST(refused == make_error_code(Errc::invalid_request));
      BOOST_TEST(stream.done());
      BOOST_TEST(!inside);
      ++called;
      fixture.client.close();
    });
    inside = false;
  });
  inside = false;
  fixture.io.run();
  BOOST_TEST(called == 3);
}

BOOST_AUTO_TEST_CASE(a_cancelled_read_loses_nothing) {
  Fixture fixture(make_scripted_model(repeating("abcdefgh")));
  std::string text;
  asio::cancellation_signal stop;
  TokenStream stream;
  std::function<void()> read = [&] {
    stream.async_next(asio::bind_cancellation_slot(
        stop.slot(), [&](error_code error, std::optional<Token> token) {
          if (token) text += token->text;
          if (text.size() == 64) return fixture.client.close();
          BOOST_TEST((!error || error == asio::error::operation_aborted));
          read();
          if (token && text.size() % 2 == 0) stop.emit(asio::cancellation_type::total);
        }));
  };
  fixture.client.async_submit(endless(3), [&](error_code error, TokenStream got) {
    BOOST_TEST(!error);
    stream = std::move(got);
    read();
  });
  fixture.io.run();
  for (std::size_t i = 0; i < text.size(); ++i) BOOST_TEST(text[i] == "abcdefgh"[i % 8]);
}

BOOST_AUTO_TEST_CASE(any_number_of_threads_may_call_and_run) {
  TestServer server(make_paged_fake_model(), large_pool());
  asio::io_context io;
  Client client(io.get_executor(), options_for(server));
  auto work = asio::make_work_guard(io);
  std::vector<std::thread> runners;
  for (int i = 0; i < 3; ++i) runners.emplace_back([&] { io.run(); });
  std::vector<std::thread> callers;
  std::vector<Seen> seen(8);
  for (std::size_t i = 0; i < seen.size(); ++i) {
    callers.emplace_back([&, i] {
      Seen& mine = seen[i];
      Request request = request_of(static_cast<int>(i));
      TokenStream stream = client.async_submit(std::move(request), asio::use_future).get();
      while (auto token = stream.async_next(asio::use_future).get()) {
        mine.tokens.push_back(std::move(*token));
      }
      mine.finish = stream.finish();
    });
  }
  for (auto& caller : callers) caller.join();
  client.close();
  work.reset();
  for (auto& runner : runners) runner.join();
  for (std::size_t i = 0; i < seen.size(); ++i) {
    BOOST_TEST(seen[i].tokens.size() == 20U + i);
    BOOST_TEST((seen[i].finish.reason == FinishReason::length));
  }
}

BOOST_AUTO_TEST_CASE(the_context_dies_in_the_middle) {
  TestServer server(make_scripted_model(repeating("x")), large_pool());
  for (int round = 0; round < 12; ++round) {
    std::optional<TokenStream> outlives;
    std::optional<Client> client;
    {
      asio::io_context io;
      client.emplace(io.get_executor(), options_for(server));
      int tokens = 0;
      std::function<void()> read = [&] {
        outlives->async_next([&](error_code, std::optional<Token> token) {
          if (token && ++tokens < round * 10) return read();
          io.stop();
          if (round % 2 == 0) read();
        });
      };
      client->async_submit(endless(), [&](error_code error, TokenStream stream) {
        BOOST_TEST(!error);
        outlives = std::move(stream);
        if (round == 0) io.stop();
        read();
      });
      if (round % 3 == 1) client->async_connect([](error_code) {});
      io.run();
      if (round % 4 == 3) client.reset();
      if (round % 4 == 2) outlives.reset();
    }
    if (outlives) {
      outlives->cancel();
      outlives->add_credit(5);
    }
    if (client) {
      client->close();
      BOOST_TEST(!client->get_executor());
      client->async_connect([](error_code) { BOOST_ERROR("nobody can run this"); });
    }
  }
  server.wait_connections(0);
  server.wait_idle();
}

asio::awaitable<void> read_to_the_end(TokenStream& stream) {
  while (co_await stream.async_next(asio::use_awaitable)) {
  }
}

BOOST_AUTO_TEST_CASE(streams_on_another_context_hear_of_the_end) {
  TestServer server(make_scripted_model(repeating("x")), large_pool());
  asio::io_context readers;
  TokenStream stream;
  {
    asio::io_context io;
    Client client(io.get_executor(), options_for(server));
    client.async_submit(endless(), asio::bind_executor(readers, [&](error_code, TokenStream got) {
                          stream = std::move(got);
                          io.stop();
                        }));
    std::thread other([&] { readers.run(); });
    io.run();
    other.join();
  }
  readers.restart();
  asio::co_spawn(readers, read_to_the_end(stream), rethrow);
  readers.run();
  BOOST_TEST((stream.finish().reason == FinishReason::error));
  BOOST_TEST((stream.finish().error.code == Errc::connection_lost));
  server.wait_idle();
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace tickertape::test
