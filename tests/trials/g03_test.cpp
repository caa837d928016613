// G03: an exception in a user's handler leaves through run(), each time and as it was thrown, and
// the others' generations go on.
#include <algorithm>
#include <array>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/multiple_exceptions.hpp>
#include <boost/test/unit_test.hpp>
#include <functional>
#include <memory>
#include <new>
#include <numeric>
#include <string>
#include <system_error>
#include <vector>

#include <tickertape/scripted.hpp>

#include "tests/support/engine_fixture.hpp"
#include "tests/support/hooked_model.hpp"

namespace tickertape::test {
namespace {

/// One of the kinds that are thrown in turn; the last is no std::exception.
void throw_one(unsigned which) {
  switch (which % 3) {
    case 0:
      throw std::bad_alloc();
    case 1:
      throw std::system_error(std::make_error_code(std::errc::broken_pipe));
    default:
      throw which;
  }
}

constexpr unsigned kSeveral = 3;

/// What came out of run(), in its order; 0 for bad_alloc, 1 for system_error, 2 for others.
/// Handlers that throw within one delivery leave together, as Asio's multiple_exceptions: kSeveral.
std::vector<unsigned> run_through(asio::io_context& io) {
  std::vector<unsigned> thrown;
  for (;;) {
    try {
      io.run();
      return thrown;
    } catch (const std::bad_alloc&) {
      thrown.push_back(0);
    } catch (const std::system_error&) {
      thrown.push_back(1);
    } catch (const asio::multiple_exceptions&) {
      thrown.push_back(kSeveral);
    } catch (unsigned which) {
      BOOST_TEST(which % 3 == 2U);
      thrown.push_back(2);
    }
  }
}

/// Engine, context, and neighbours whose answers must be whole at the end.
struct Fixture {
  void start_neighbours(std::uint32_t count) {
    answers.resize(count);
    for (std::uint32_t i = 0; i < count; ++i) {
      asio::co_spawn(io, ask(*fake.engine, varied_request(i), answers[i]), rethrow);
    }
  }
  void check_neighbours() {
    for (std::uint32_t i = 0; i < answers.size(); ++i) {
      BOOST_TEST(answers[i].ids == fake.expected(varied_request(i)),
                 boost::test_tools::per_element());
    }
    BOOST_TEST(fake.probe->violations() == 0U);
    BOOST_TEST(idle_stats(*fake.engine).pages_held == 0U);
  }

  asio::io_context io{1};
  FakeEngine fake;
  std::vector<Answer> answers;
};

BOOST_FIXTURE_TEST_SUITE(g03, Fixture)

BOOST_AUTO_TEST_CASE(g03_read_handlers_throw_between_tokens) {
  start_neighbours(4);
  Request request = varied_request(100, 30);
  request.sampling.ignore_eos = true;
  TokenStream stream = fake.engine->submit(io.get_executor(), request);
  std::vector<TokenId> ids;
  std::function<void()> read = [&] {
    stream.async_next([&](error_code, std::optional<Token> token) {
      if (!token) return;
      ids.push_back(token->id);
      read();  // First, so that the stream goes on whatever happens here.
      throw_one(static_cast<unsigned>(ids.size()));
    });
  };
  read();
  const std::vector<unsigned> thrown = run_through(io);
  BOOST_TEST(ids == fake.expected(request), boost::test_tools::per_element());
  const bool several = std::find(thrown.begin(), thrown.end(), kSeveral) != thrown.end();
  BOOST_TEST(!thrown.empty());
  BOOST_TEST((several ? thrown.size() < ids.size() : thrown.size() == ids.size()));
  for (std::size_t i = 0; i < thrown.size() && !several; ++i) BOOST_TEST(thrown[i] == (i + 1) % 3);
  check_neighbours();
}

BOOST_AUTO_TEST_CASE(g03_submit_handlers_throw_and_drop_their_stream) {
  start_neighbours(4);
  for (unsigned i = 0; i < 9; ++i) {
    fake.engine->async_submit(varied_request(100 + i),
                              asio::bind_executor(io, [i](error_code error, TokenStream stream) {
                                BOOST_TEST(!error);
                                BOOST_TEST(static_cast<bool>(stream));
                                throw_one(i);
                              }));
  }
  BOOST_TEST(run_through(io).size() == 9U);
  check_neighbours();
  // Cancelled by the drop, unless they had ended before.
  const EngineStats stats = fake.engine->stats();
  BOOST_TEST(std::accumulate(stats.finished.begin(), stats.finished.end(), std::uint64_t{0}) ==
             13U);
}

/// The whole pool for each of several, so that they are preempted and come back; their notices
/// throw each time.
BOOST_AUTO_TEST_CASE(g03_notices_throw) {
  constexpr std::uint32_t kRequests = 8;
  std::size_t notices = 0;
  answers.resize(kRequests);
  const auto grown = [](std::uint32_t which) {
    Request request = varied_request(which, 90);
    request.sampling.ignore_eos = true;
    return request;
  };
  for (std::uint32_t i = 0; i < kRequests; ++i) {
    Request request = grown(i);
    request.on_notice = [&notices](const Notice&) { throw_one(static_cast<unsigned>(notices++)); };
    asio::co_spawn(io, ask(*fake.engine, std::move(request), answers[i]), rethrow);
  }
  const std::vector<unsigned> thrown = run_through(io);
  BOOST_TEST(notices > 0U);
  BOOST_TEST(thrown.size() == notices);
  for (std::uint32_t i = 0; i < kRequests; ++i) {
    BOOST_TEST(answers[i].ids == fake.expected(grown(i)), boost::test_tools::per_element());
  }
  BOOST_TEST(idle_stats(*fake.engine).pages_held == 0U);
}

asio::awaitable<void> fail_after(Engine& engine, std::uint64_t tokens, unsigned which) {
  TokenStream stream =
      co_await engine.async_submit(varied_request(200 + which), asio::use_awaitable);
  while (tokens-- > 0) co_await stream.async_next(asio::use_awaitable);
  throw_one(which);
}

BOOST_AUTO_TEST_CASE(g03_coroutines_end_by_an_exception_while_they_hold_a_stream) {
  start_neighbours(4);
  std::size_t told = 0;
  for (unsigned i = 0; i < 9; ++i) {
    asio::co_spawn(io, fail_after(*fake.engine, i, i),
                   [&told](std::exception_ptr error) { told += error ? 1 : 0; });
  }
  BOOST_TEST(run_through(io).empty());
  BOOST_TEST(told == 9U);
  check_neighbours();
}

BOOST_AUTO_TEST_SUITE_END()

/// The request whose text cannot be read ends with an error; the one beside it has its answer.
BOOST_AUTO_TEST_CASE(g03_a_tokenizer_throws_between_tokens) {
  Script script;
  script.rules.resize(1);
  script.rules[0].match = "faulty";
  script.rules[0].text = "ab!cd";
  script.fallback.text = "0123456789";
  const auto real = make_scripted_model(script);
  const TokenId mark = real->tokenizer()->encode("!", false).back();
  unsigned kinds = 0;
  TokenizerHooks hooks;
  hooks.on_bytes = [&](TokenId id) {
    if (id == mark) throw_one(kinds++);
  };
  Engine engine(std::make_shared<HookedModel>(real, std::move(hooks)), tiny_options());
  for (int round = 0; round < 3; ++round) {
    asio::io_context io(1);
    std::array<Answer, 2> answers;
    for (std::size_t i = 0; i < 2; ++i) {
      Request request;
      request.prompt = i == 0 ? "faulty" : "sound";
      asio::co_spawn(io, ask(engine, std::move(request), answers[i]), rethrow);
    }
    io.run();
    BOOST_TEST(answers[0].text == "ab");
    BOOST_TEST((answers[0].finish.reason == FinishReason::error));
    BOOST_TEST((answers[0].finish.error.code == Errc::internal));
    BOOST_TEST(answers[0].finish.usage.completion_tokens == 2U);
    BOOST_TEST(answers[1].text == "0123456789");
  }
  BOOST_TEST(kinds == 3U);
  BOOST_TEST(idle_stats(engine).pages_held == 0U);
}

}  // namespace
}  // namespace tickertape::test
