// Engine fixture: engines over the paged fake, and coroutines that read a whole answer.
#pragma once
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <tickertape/engine.hpp>
#include <tickertape/fake.hpp>

namespace tickertape::test {

namespace asio = boost::asio;

/// 24 pages of 16 tokens and 8 slots, as the trials have it; a pass of 200 us.
inline EngineOptions tiny_options() {
  EngineOptions options;
  options.num_kv_pages = 24;
  options.page_size = 16;
  options.max_num_seqs = 8;
  options.threads = 1;
  return options;
}

/// An engine of whatever kind over the paged fake.
template <class AnyEngine>
struct OverFake {
  explicit OverFake(EngineOptions options = tiny_options(), std::int64_t pass_ns = 200'000) {
    fake.probe = probe;
    fake.pass_ns = pass_ns;
    engine = std::make_unique<AnyEngine>(make_paged_fake_model(fake), std::move(options));
  }
  std::vector<TokenId> expected(const Request& request, std::uint32_t choice = 0) const {
    return paged_fake_expected(request.prompt_ids, request.sampling, *request.sampling.seed, choice,
                               request.max_tokens, fake);
  }
  std::shared_ptr<PagedFakeProbe> probe = std::make_shared<PagedFakeProbe>();
  PagedFakeOptions fake;
  std::unique_ptr<AnyEngine> engine;
};
using FakeEngine = OverFake<Engine>;

/// A request of its own kind for every `which`: lengths, seeds, greedy and not.
inline Request varied_request(std::uint32_t which, std::uint32_t max_tokens = 40) {
  Request request;
  for (std::uint32_t i = 0; i < 5 + which * 7 % 60; ++i) {
    request.prompt_ids.push_back(static_cast<TokenId>(1 + (which * 31 + i * 17) % 200));
  }
  request.max_tokens = max_tokens;
  request.sampling.temperature = which % 2 == 0 ? 0.0 : 1.0;
  request.sampling.seed = which;
  request.sampling.ignore_eos = which % 3 == 0;
  return request;
}

/// A greedy request of exactly these lengths, with a prompt of its own for every `which`.
inline Request exact_request(std::uint32_t which, std::uint32_t prompt, std::uint32_t max_tokens) {
  Request request;
  for (std::uint32_t i = 0; i < prompt; ++i) {
    request.prompt_ids.push_back(static_cast<TokenId>(1 + (which * 31 + i * 17) % 200));
  }
  request.max_tokens = max_tokens;
  request.sampling.temperature = 0;
  request.sampling.seed = which;
  request.sampling.ignore_eos = true;
  return request;
}

struct Answer {
  std::vector<TokenId> ids;
  std::string text;
  Finish finish;
  error_code error;
};

/// Submits and reads to the end. `answer` outlives the coroutine.
inline asio::awaitable<void> ask(Engine& engine, Request request, Answer& answer) {
  TokenStream stream = co_await engine.async_submit(std::move(request), asio::use_awaitable);
  for (;;) {
    std::optional<Token> token = co_await stream.async_next(asio::use_awaitable);
    if (!token) break;
    answer.ids.push_back(token->id);
    answer.text += token->text;
  }
  answer.finish = stream.finish();
}

/// Rethrows what a coroutine threw, out of run().
inline void rethrow(std::exception_ptr error) {
  if (error) std::rethrow_exception(error);
}

/// Waits for the lane to have taken in what the readers did last: nobody runs or waits. The clock
/// is only a guard against hanging.
inline EngineStats idle_stats(const Engine& engine) {
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  for (;;) {
    const EngineStats stats = engine.stats();
    const bool idle = stats.num_running == 0 && stats.num_waiting == 0;
    if (idle || std::chrono::steady_clock::now() > give_up) return stats;
    std::this_thread::yield();
  }
}

/// Asks one request and runs the context until it is answered.
inline Answer ask_alone(Engine& engine, Request request) {
  asio::io_context io;
  Answer answer;
  asio::co_spawn(io, ask(engine, std::move(request), answer), rethrow);
  io.run();
  return answer;
}

}  // namespace tickertape::test
