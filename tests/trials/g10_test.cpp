// G10: handlers run where they are bound, and nowhere else.
#include <atomic>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/test/unit_test.hpp>
#include <thread>
#include <vector>

#include "tests/support/engine_fixture.hpp"

namespace tickertape::test {
namespace {

using Strand = asio::strand<asio::io_context::executor_type>;

struct Tally {
  std::atomic<std::uint64_t> tokens{0};
  std::atomic<std::uint64_t> elsewhere{0};  ///< Steps that ran off their executor.
};

asio::awaitable<void> read_all(Engine& engine, Strand strand, std::uint32_t which, Tally& tally) {
  Request request = varied_request(which, 20);
  request.sampling.ignore_eos = true;
  TokenStream stream = co_await engine.async_submit(std::move(request), asio::use_awaitable);
  while (co_await stream.async_next(asio::use_awaitable)) {
    ++tally.tokens;
    if (!strand.running_in_this_thread()) ++tally.elsewhere;
  }
  if (!strand.running_in_this_thread()) ++tally.elsewhere;
}

/// Reads of a stream that lives on one strand, with handlers bound to another.
void read_bound(const std::shared_ptr<TokenStream>& stream, Strand strand, Tally& tally) {
  stream->async_next(
      asio::bind_executor(strand, [stream, strand, &tally](error_code, std::optional<Token> token) {
        if (!strand.running_in_this_thread()) ++tally.elsewhere;
        if (!token) return;
        ++tally.tokens;
        read_bound(stream, strand, tally);
      }));
}

BOOST_AUTO_TEST_CASE(g10_64_streams_on_two_threads_stay_on_their_strands) {
  constexpr std::uint32_t kStreams = 64;
  constexpr int kRounds = 5;
  asio::io_context io(2);
  Tally tally;
  EngineOptions options = tiny_options();
  options.num_kv_pages = 512;
  options.max_num_seqs = kStreams;
  const FakeEngine fake(options, 0);
  for (int round = 0; round < kRounds; ++round) {
    for (std::uint32_t i = 0; i < kStreams; ++i) {
      const Strand strand = asio::make_strand(io.get_executor());
      if (i % 2 == 0) {
        asio::co_spawn(strand, read_all(*fake.engine, strand, i, tally), rethrow);
        continue;
      }
      Request request = varied_request(i, 20);
      request.sampling.ignore_eos = true;
      const auto stream = std::make_shared<TokenStream>(
          fake.engine->submit(asio::make_strand(io.get_executor()), std::move(request)));
      asio::post(strand, [stream, strand, &tally] { read_bound(stream, strand, tally); });
    }
    std::thread other([&io] { io.run(); });
    io.run();
    other.join();
    io.restart();
  }
  BOOST_TEST(tally.tokens == std::uint64_t{kRounds} * kStreams * 20);
  BOOST_TEST(tally.elsewhere == 0U);
}

}  // namespace
}  // namespace tickertape::test
