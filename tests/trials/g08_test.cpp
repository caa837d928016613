// G08: everything ready at once, and the stack stays flat.
#include <boost/test/unit_test.hpp>
#include <coroutine>
#include <optional>
#include <vector>

#include <tickertape/scripted.hpp>

#include "runtime/task.hpp"
#include "tests/support/engine_fixture.hpp"
#include "tests/support/small_stack.hpp"

namespace tickertape::test {
namespace {

constexpr std::uint32_t kTokensPerStream = kSanitized ? 1'024 : 16'384;
constexpr std::uint32_t kStreams = 64;
constexpr std::uint64_t kTokens = std::uint64_t{kStreams} * kTokensPerStream;

/// Streams whose tokens are all ready before anybody reads.
struct ReadyStreams {
  explicit ReadyStreams(asio::io_context& io) {
    Script script;
    script.max_model_len = kTokensPerStream + 16;
    script.fallback.text = "a";
    script.fallback.repeat = true;
    EngineOptions options;
    options.page_size = 1024;
    options.num_kv_pages = kStreams * (kTokensPerStream / 1024 + 1);
    options.max_num_seqs = kStreams;
    options.threads = 1;
    engine.emplace(make_scripted_model(script), options);
    Request request;
    request.prompt = "x";
    request.max_tokens = kTokensPerStream;
    request.window = kTokensPerStream;
    for (std::uint32_t i = 0; i < kStreams; ++i) {
      streams.push_back(engine->submit(io.get_executor(), request));
    }
    BOOST_TEST(idle_stats(*engine).generation_tokens == kTokens);
  }

  std::optional<Engine> engine;
  std::vector<TokenStream> streams;
  std::uint64_t tokens = 0;
};

asio::awaitable<void> count(TokenStream& stream, std::uint64_t& tokens) {
  while (co_await stream.async_next(asio::use_awaitable)) ++tokens;
}

void read_on(TokenStream& stream, std::uint64_t& tokens) {
  stream.async_next([&](error_code, std::optional<Token> token) {
    if (!token) return;
    ++tokens;
    read_on(stream, tokens);
  });
}

BOOST_AUTO_TEST_CASE(g08_a_million_ready_tokens_are_read_on_a_flat_stack) {
  asio::io_context io;
  ReadyStreams ready(io);
  on_small_stack([&] {
    for (std::size_t i = 0; i < kStreams; ++i) {
      if (i % 2 == 0) {
        asio::co_spawn(io, count(ready.streams[i], ready.tokens), rethrow);
      } else {
        read_on(ready.streams[i], ready.tokens);
      }
    }
    io.run();
  });
  BOOST_TEST(ready.tokens == kTokens);
}

runtime::Task<std::uint64_t> one() {
  co_return 1;
}
runtime::Task<> sum(std::uint64_t& total, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) total += co_await one();
}

BOOST_AUTO_TEST_CASE(g08_a_million_tasks_that_end_at_once) {
  std::uint64_t total = 0;
  on_small_stack([&] {
    runtime::Task<> task = sum(total, kTokens);
    BOOST_TEST(task.start(nullptr, nullptr));
  });
  BOOST_TEST(total == kTokens);
}

struct Suspend {
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<>) const noexcept {}
  void await_resume() const noexcept {}
};
runtime::Task<> nest(int depth) {
  if (depth > 0) co_await nest(depth - 1);
  co_await Suspend();
}

BOOST_AUTO_TEST_CASE(g08_a_chain_of_suspended_frames_is_destroyed) {
  constexpr int kDepth = 1'000;
  on_small_stack([] {
    runtime::Task<> chain = nest(kDepth);
    BOOST_TEST(!chain.start(nullptr, nullptr));
  });
}

}  // namespace
}  // namespace tickertape::test
