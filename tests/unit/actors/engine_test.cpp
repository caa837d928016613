// Engine: submitting, reading, refusing, on real executors.
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/test/unit_test.hpp>
#include <deque>
#include <thread>

#include "tests/support/engine_fixture.hpp"

namespace {

using namespace tickertape;
using namespace tickertape::test;

BOOST_AUTO_TEST_CASE(one_answer_is_the_models) {
  FakeEngine fake;
  const Request request = varied_request(3);
  const Answer answer = ask_alone(*fake.engine, request);
  BOOST_TEST(answer.ids == fake.expected(request), boost::test_tools::per_element());
  BOOST_TEST(answer.finish.usage.completion_tokens == answer.ids.size());
  BOOST_TEST(answer.finish.usage.prompt_tokens == request.prompt_ids.size());
}

BOOST_AUTO_TEST_CASE(many_at_once_get_what_they_get_alone_also_when_preempted) {
  for (const std::uint32_t chunk : {0U, 16U, 64U}) {
    EngineOptions options = tiny_options();
    options.prefill_chunk = chunk;
    FakeEngine fake(options, 0);
    asio::io_context io;
    std::deque<Answer> answers(32);
    for (std::uint32_t i = 0; i < 32; ++i) {
      asio::co_spawn(io, ask(*fake.engine, varied_request(i, 100), answers[i]), rethrow);
    }
    io.run();
    for (std::uint32_t i = 0; i < 32; ++i) {
      BOOST_TEST(answers[i].ids == fake.expected(varied_request(i, 100)),
                 boost::test_tools::per_element());
    }
    BOOST_TEST(fake.engine->stats().preemptions > 0U);
    BOOST_TEST(idle_stats(*fake.engine).pages_held == 0U);
    BOOST_TEST(fake.probe->violations() == 0U);
  }
}

BOOST_AUTO_TEST_CASE(the_next_pass_is_planned_while_one_runs) {
  for (const bool overlap : {true, false}) {
    EngineOptions options = tiny_options();
    options.overlap = overlap;
    FakeEngine fake(options);
    asio::io_context io;
    std::deque<Answer> answers(16);
    for (std::uint32_t i = 0; i < answers.size(); ++i) {
      asio::co_spawn(io, ask(*fake.engine, varied_request(i, 60), answers[i]), rethrow);
    }
    io.run();
    for (std::uint32_t i = 0; i < answers.size(); ++i) {
      BOOST_TEST(answers[i].ids == fake.expected(varied_request(i, 60)),
                 boost::test_tools::per_element());
    }
    const EngineStats stats = idle_stats(*fake.engine);
    BOOST_TEST(stats.pages_held == 0U);
    BOOST_TEST((stats.overlapped_ticks > 0) == overlap);
    const auto planning = static_cast<std::size_t>(IdleCause::planning);
    if (!overlap) BOOST_TEST(stats.device_idle_ns[planning] > 0U);
    BOOST_TEST(fake.probe->violations() == 0U);
  }
}

BOOST_AUTO_TEST_CASE(a_batch_read_takes_all_that_is_ready) {
  FakeEngine fake(tiny_options(), 0);
  asio::io_context io;
  std::vector<TokenId> ids;
  const Request request = varied_request(3, 60);
  TokenStream stream = fake.engine->submit(io.get_executor(), request);
  std::function<void(error_code, std::vector<Token>)> on_batch;
  on_batch = [&](error_code error, std::vector<Token> tokens) {
    BOOST_TEST(!error);
    for (const Token& token : tokens) ids.push_back(token.id);
    if (!tokens.empty()) stream.async_next_batch(on_batch);
  };
  stream.async_next_batch(on_batch);
  io.run();
  BOOST_TEST(ids == fake.expected(request), boost::test_tools::per_element());
  BOOST_TEST(stream.done());
}

BOOST_AUTO_TEST_CASE(a_handler_never_runs_inside_the_initiating_call) {
  FakeEngine fake(tiny_options(), 0);
  asio::io_context io;
  const Answer warm = ask_alone(*fake.engine, varied_request(3, 2));
  TokenStream refused = fake.engine->submit(io.get_executor(), Request());
  bool called = false;
  refused.async_next([&](error_code error, std::optional<Token> token) {
    called = true;
    BOOST_TEST(!error);
    BOOST_TEST(!token.has_value());
  });
  BOOST_TEST(!called);
  io.run();
  BOOST_TEST(called);
}

BOOST_AUTO_TEST_CASE(a_second_read_while_one_waits_is_an_error) {
  FakeEngine fake;
  asio::io_context io;
  TokenStream stream = fake.engine->submit(io.get_executor(), varied_request(3, 3));
  int first = 0;
  int second = 0;
  stream.async_next([&](error_code error, std::optional<Token>) { first += error ? 100 : 1; });
  stream.async_next([&](error_code error, std::optional<Token>) {
    second += error == make_error_code(Errc::read_pending) ? 1 : 100;
  });
  io.run();
  BOOST_TEST(first == 1);
  BOOST_TEST(second == 1);
}

BOOST_AUTO_TEST_CASE(every_cancellation_type_stops_only_the_read_and_loses_no_token) {
  for (const auto type : {asio::cancellation_type::terminal, asio::cancellation_type::partial,
                          asio::cancellation_type::total}) {
    FakeEngine fake;
    asio::io_context io;
    const Request request = varied_request(3, 30);
    TokenStream stream = fake.engine->submit(io.get_executor(), request);
    std::vector<TokenId> ids;
    int cancelled = 0;
    bool ended = false;
    asio::cancellation_signal signal;
    std::function<void()> read = [&] {
      stream.async_next(asio::bind_cancellation_slot(
          signal.slot(), [&](error_code error, std::optional<Token> token) {
            if (error) {
              BOOST_TEST((error == asio::error::operation_aborted));
              ++cancelled;
            } else if (token) {
              ids.push_back(token->id);
            } else {
              ended = true;
              return;
            }
            read();
            if (ids.size() % 3 == 0 && cancelled < 20) signal.emit(type);
          }));
    };
    read();
    io.run();
    BOOST_TEST(ended);
    BOOST_TEST(cancelled > 0);
    BOOST_TEST(ids == fake.expected(request), boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(a_refusal_is_an_error_code_and_a_finished_stream) {
  FakeEngine fake;
  asio::io_context io;
  Request request = varied_request(1);
  request.sampling.temperature = 3;
  int calls = 0;
  fake.engine->async_submit(
      request, asio::bind_executor(io.get_executor(), [&](error_code error, TokenStream stream) {
        ++calls;
        BOOST_TEST((error == make_error_code(Errc::invalid_request)));
        BOOST_TEST(stream.done());
        BOOST_TEST(stream.finish().error.param == "temperature");
        BOOST_TEST(stream.finish().error.status() == 400);
      }));
  io.run();
  BOOST_TEST(calls == 1);
  BOOST_TEST(fake.engine->check(request)->param == "temperature");
  BOOST_TEST(!fake.engine->check(varied_request(1)).has_value());
  BOOST_TEST(fake.engine->stats().refused == 1U);
}

BOOST_AUTO_TEST_CASE(without_an_executor_the_request_is_refused) {
  FakeEngine fake;
  TokenStream stream = fake.engine->submit({}, varied_request(1));
  BOOST_TEST((stream.finish().error.code == Errc::no_executor));
  EngineOptions options = tiny_options();
  asio::io_context io;
  options.executor = io.get_executor();
  FakeEngine with_default(options);
  BOOST_TEST((with_default.engine->submit({}, varied_request(1)).finish().error.code == Errc::ok));
}

BOOST_AUTO_TEST_CASE(settings_that_cannot_be_are_refused_by_name) {
  const auto param_of = [](auto spoil) {
    EngineOptions options = tiny_options();
    spoil(options);
    try {
      FakeEngine fake(options);
    } catch (const Error& error) {
      return error.info().param;
    }
    return std::string("accepted");
  };
  BOOST_TEST(param_of([](EngineOptions& o) { o.max_model_len = 385; }) == "max_model_len");
  BOOST_TEST(param_of([](EngineOptions& o) { o.max_model_len = 384; }) == "accepted");
  BOOST_TEST(param_of([](EngineOptions& o) { o.page_size = 12; }) == "page_size");
  BOOST_TEST(param_of([](EngineOptions& o) { o.max_num_seqs = 0; }) == "max_num_seqs");
  BOOST_TEST(param_of([](EngineOptions& o) { o.max_num_batched_tokens = 23; }) ==
             "max_num_batched_tokens");
  BOOST_TEST(param_of([](EngineOptions& o) { o.max_num_batched_tokens = 24; }) == "accepted");
  BOOST_TEST(param_of([](EngineOptions& o) { o.stall_timeout_s = -1; }) == "stall_timeout_s");
}

BOOST_AUTO_TEST_CASE(a_handler_that_throws_leaves_through_run_and_costs_nobody_else) {
  FakeEngine fake(tiny_options(), 0);
  asio::io_context io;
  std::deque<Answer> answers(6);
  for (std::uint32_t i = 0; i < 6; ++i) {
    asio::co_spawn(io, ask(*fake.engine, varied_request(i), answers[i]), rethrow);
  }
  TokenStream thrower = fake.engine->submit(io.get_executor(), varied_request(7));
  thrower.async_next([](error_code, std::optional<Token>) { throw std::runtime_error("mine"); });
  int thrown = 0;
  for (bool running = true; running;) {
    try {
      io.run();
      running = false;
    } catch (const std::runtime_error& error) {
      BOOST_TEST(std::string(error.what()) == "mine");
      ++thrown;
    }
  }
  BOOST_TEST(thrown == 1);
  for (std::uint32_t i = 0; i < 6; ++i) {
    BOOST_TEST(answers[i].ids == fake.expected(varied_request(i)),
               boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(executors_with_several_threads_and_strands_of_them) {
  FakeEngine fake(tiny_options(), 0);
  std::deque<Answer> answers(24);
  {
    asio::thread_pool pool(3);
    for (std::uint32_t i = 0; i < 24; ++i) {
      if (i % 2 == 0) {
        asio::co_spawn(pool, ask(*fake.engine, varied_request(i), answers[i]), rethrow);
      } else {
        asio::co_spawn(asio::make_strand(pool), ask(*fake.engine, varied_request(i), answers[i]),
                       rethrow);
      }
    }
    pool.join();
  }
  for (std::uint32_t i = 0; i < 24; ++i) {
    BOOST_TEST(answers[i].ids == fake.expected(varied_request(i)),
               boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(dropping_a_stream_frees_its_pages) {
  FakeEngine fake;
  asio::io_context io;
  {
    TokenStream stream = fake.engine->submit(io.get_executor(), varied_request(3, 200));
    stream.async_next([](error_code error, std::optional<Token>) { BOOST_TEST(!error); });
    io.run();
  }
  // The lane hears of the drop before it plans the next request.
  const Answer next = ask_alone(*fake.engine, varied_request(4, 3));
  BOOST_TEST(next.ids.size() == 3U);
  const EngineStats stats = idle_stats(*fake.engine);
  BOOST_TEST(stats.pages_held == 0U);
  BOOST_TEST(stats.finished[static_cast<std::size_t>(FinishReason::cancelled)] == 1U);
}

BOOST_AUTO_TEST_CASE(cancel_ends_with_cancelled_and_ready_tokens_stay_readable) {
  FakeEngine fake;
  asio::io_context io;
  TokenStream stream = fake.engine->submit(io.get_executor(), varied_request(3, 200));
  std::vector<TokenId> ids;
  std::function<void(error_code, std::optional<Token>)> on_token;
  bool ended = false;
  on_token = [&](error_code error, std::optional<Token> token) {
    BOOST_TEST(!error);
    ended = !token;
    if (!token) return;
    ids.push_back(token->id);
    if (ids.size() == 5) stream.cancel();
    stream.async_next(on_token);
  };
  stream.async_next(on_token);
  io.run();
  BOOST_TEST(ended);
  BOOST_TEST(ids.size() >= 5U);
  BOOST_TEST((stream.finish().reason == FinishReason::cancelled));
  BOOST_TEST(stream.finish().usage.completion_tokens == ids.size());
}

BOOST_AUTO_TEST_CASE(two_engines_in_one_process) {
  FakeEngine a(tiny_options(), 0);
  FakeEngine b(tiny_options(), 0);
  asio::io_context io;
  std::deque<Answer> answers(8);
  for (std::uint32_t i = 0; i < 8; ++i) {
    Engine& engine = i % 2 == 0 ? *a.engine : *b.engine;
    asio::co_spawn(io, ask(engine, varied_request(i), answers[i]), rethrow);
  }
  io.run();
  for (std::uint32_t i = 0; i < 8; ++i) {
    BOOST_TEST(answers[i].ids == a.expected(varied_request(i)), boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(a_failed_pass_ends_its_requests_and_the_engine_goes_on) {
  FakeEngine fake;
  fake.fake.fail_at = {3};
  fake.engine = std::make_unique<Engine>(make_paged_fake_model(fake.fake), tiny_options());
  const Answer failed = ask_alone(*fake.engine, varied_request(3, 40));
  BOOST_TEST((failed.finish.reason == FinishReason::error));
  BOOST_TEST((failed.finish.error.code == Errc::backend_failed));
  const Answer next = ask_alone(*fake.engine, varied_request(6, 40));
  BOOST_TEST(next.ids == fake.expected(varied_request(6, 40)), boost::test_tools::per_element());
}

}  // namespace
