// Who may die before whom: contexts, engines and streams in every order.
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/test/unit_test.hpp>
#include <deque>
#include <optional>
#include <thread>

#include "tests/support/engine_fixture.hpp"

namespace {

using namespace tickertape;
using namespace tickertape::test;

/// Runs handlers until `answers` together hold `count` tokens.
void run_until(asio::io_context& io, const std::deque<Answer>& answers, std::size_t count) {
  for (;;) {
    std::size_t sum = 0;
    for (const Answer& answer : answers) sum += answer.ids.size();
    if (sum >= count) return;
    io.run_one();
  }
}

void spawn_all(asio::io_context& io, Engine& engine, std::deque<Answer>& answers) {
  for (std::uint32_t i = 0; i < answers.size(); ++i) {
    asio::co_spawn(io, ask(engine, varied_request(i, 200), answers[i]), rethrow);
  }
}

BOOST_AUTO_TEST_CASE(the_context_dies_in_the_middle_of_generations) {
  FakeEngine fake;
  for (int round = 0; round < 10; ++round) {
    std::deque<Answer> answers(6);
    {
      asio::io_context io;
      spawn_all(io, *fake.engine, answers);
      run_until(io, answers, static_cast<std::size_t>(round) * 3);
      io.stop();
    }
  }
  const Request request = varied_request(4, 5);
  BOOST_TEST(ask_alone(*fake.engine, request).ids == fake.expected(request),
             boost::test_tools::per_element());
  BOOST_TEST(idle_stats(*fake.engine).pages_held == 0U);
}

BOOST_AUTO_TEST_CASE(the_context_dies_after_the_engine) {
  for (int round = 0; round < 10; ++round) {
    std::deque<Answer> answers(6);
    asio::io_context io;
    FakeEngine fake;
    spawn_all(io, *fake.engine, answers);
    run_until(io, answers, static_cast<std::size_t>(round) * 3);
    fake.engine.reset();
  }
}

BOOST_AUTO_TEST_CASE(streams_outlive_their_engine_and_end_with_shutdown) {
  std::deque<Answer> answers(6);
  asio::io_context io;
  FakeEngine fake;
  spawn_all(io, *fake.engine, answers);
  run_until(io, answers, 10);
  fake.engine.reset();
  io.run();
  for (const Answer& answer : answers) {
    BOOST_TEST((answer.finish.reason == FinishReason::shutdown));
    BOOST_TEST(answer.finish.usage.completion_tokens == answer.ids.size());
  }
}

BOOST_AUTO_TEST_CASE(a_stream_held_beyond_everything) {
  TokenStream stream;
  {
    asio::io_context io;
    FakeEngine fake;
    stream = fake.engine->submit(io.get_executor(), varied_request(3, 200));
    stream.async_next([](error_code, std::optional<Token>) {});
    io.run_one();
  }
  stream.cancel();
  stream.add_credit(5);
  bool called = false;
  stream.async_next([&](error_code, std::optional<Token>) { called = true; });
  BOOST_TEST(!called);  // Nobody is left to run it.
  BOOST_TEST(!stream.get_executor());
}

BOOST_AUTO_TEST_CASE(a_stopped_context_goes_on_where_it_was) {
  FakeEngine fake;
  std::deque<Answer> answers(4);
  asio::io_context io;
  spawn_all(io, *fake.engine, answers);
  run_until(io, answers, 7);
  io.stop();
  io.restart();
  io.run();
  for (std::uint32_t i = 0; i < answers.size(); ++i) {
    BOOST_TEST(answers[i].ids == fake.expected(varied_request(i, 200)),
               boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(contexts_die_while_the_lane_delivers) {
  // Threads on purpose: the lane posts while the context is being destroyed.
  FakeEngine fake(tiny_options(), 0);
  for (int round = 0; round < 100; ++round) {
    std::deque<Answer> answers(4);
    auto io = std::make_unique<asio::io_context>();
    spawn_all(*io, *fake.engine, answers);
    run_until(*io, answers, static_cast<std::size_t>(round % 7));
    io.reset();
  }
  ask_alone(*fake.engine, varied_request(4, 5));
  BOOST_TEST(idle_stats(*fake.engine).pages_held == 0U);
}

BOOST_AUTO_TEST_CASE(strands_of_a_pool_that_stops_in_the_middle) {
  FakeEngine fake(tiny_options(), 0);
  for (int round = 0; round < 30; ++round) {
    std::deque<Answer> answers(6);
    asio::thread_pool pool(2);
    for (std::uint32_t i = 0; i < answers.size(); ++i) {
      asio::co_spawn(asio::make_strand(pool), ask(*fake.engine, varied_request(i, 200), answers[i]),
                     rethrow);
    }
    if (round % 2 == 0) pool.stop();
    if (round % 3 == 0) pool.join();
  }
  ask_alone(*fake.engine, varied_request(4, 5));
  BOOST_TEST(idle_stats(*fake.engine).pages_held == 0U);
}

BOOST_AUTO_TEST_CASE(an_engine_that_was_never_asked) {
  for (int round = 0; round < 20; ++round) FakeEngine fake;
  FakeEngine stopped;
  stopped.engine->stop();
  asio::io_context io;
  const Errc code =
      stopped.engine->submit(io.get_executor(), varied_request(1)).finish().error.code;
  BOOST_TEST((code == Errc::shutting_down));
}

}  // namespace
