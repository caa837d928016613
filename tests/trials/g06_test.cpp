// G06: cancellations that meet completions, on an executor that two threads run.
#include <array>
#include <atomic>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/test/unit_test.hpp>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "tests/support/engine_fixture.hpp"

namespace tickertape::test {
namespace {

/// How a client changes its mind.
enum class Whim : std::uint8_t { none, cancel, drop, stop_read, deadline };
constexpr unsigned kNumWhims = 5;

struct Totals {
  std::atomic<std::uint64_t> ends{0};   ///< Streams read to their end.
  std::atomic<std::uint64_t> wrong{0};  ///< Ends without a reason, or a second one.
  std::atomic<std::uint64_t> stopped_reads{0};
  std::atomic<std::uint64_t> dropped{0};
};

/// A request on a strand of its own. Everything happens on the strand; its threads are two.
class Client : public std::enable_shared_from_this<Client> {
 public:
  Client(Engine& engine, asio::thread_pool& pool, Totals& totals)
      : engine_(engine), strand_(asio::make_strand(pool)), totals_(totals) {}

  void start(Request request) {
    asio::dispatch(strand_, [self = shared_from_this(), request = std::move(request)]() mutable {
      self->stream_ = self->engine_.submit(self->strand_, std::move(request));
      self->read();
    });
  }

  /// The same where the engine may end at any moment: it is asked here, on the caller's thread.
  void start_here(Request request) {
    stream_ = engine_.submit(strand_, std::move(request));
    asio::dispatch(strand_, [self = shared_from_this()] { self->read(); });
  }

  void change_mind(Whim whim) {
    asio::post(strand_, [self = shared_from_this(), whim] {
      if (whim == Whim::cancel) self->stream_.cancel();
      if (whim == Whim::stop_read) self->signal_.emit(asio::cancellation_type::terminal);
      if (whim == Whim::drop && !self->ended_ && !self->dropped_) {
        self->dropped_ = true;
        ++self->totals_.dropped;
        self->stream_ = TokenStream();
      }
    });
  }

 private:
  void read() {
    stream_.async_next(asio::bind_cancellation_slot(
        signal_.slot(), [self = shared_from_this()](error_code error, std::optional<Token> token) {
          self->got(error, token.has_value());
        }));
  }

  void got(error_code error, bool token) {
    if (!strand_.running_in_this_thread() || ended_) ++totals_.wrong;
    if (dropped_) return;
    if (error) ++totals_.stopped_reads;
    if (error || token) return read();
    ended_ = true;
    ++totals_.ends;
    if (stream_.finish().reason == FinishReason::none || !stream_.done()) ++totals_.wrong;
  }

  Engine& engine_;
  asio::strand<asio::thread_pool::executor_type> strand_;
  Totals& totals_;
  TokenStream stream_;
  asio::cancellation_signal signal_;
  bool ended_ = false;
  bool dropped_ = false;
};

BOOST_AUTO_TEST_CASE(g06_every_request_ends_once_whenever_it_is_cancelled) {
  constexpr std::size_t kRequests = 3'000;
  constexpr std::size_t kBehind = 16;  // So many requests later a client changes its mind.
  Totals totals;
  EngineOptions options = tiny_options();
  options.max_queued_requests = kRequests;
  FakeEngine fake(options, 0);
  std::mt19937 random(6);
  std::array<std::uint64_t, kNumWhims> whims{};
  {
    asio::thread_pool pool(2);
    std::vector<std::shared_ptr<Client>> clients;
    for (std::size_t i = 0; i < kRequests; ++i) {
      const Whim whim = static_cast<Whim>(random() % kNumWhims);
      ++whims[static_cast<std::size_t>(whim)];
      Request request = varied_request(static_cast<std::uint32_t>(i), 1 + random() % 5);
      if (whim == Whim::deadline) request.deadline_ms = static_cast<double>(random() % 1'000) / 250;
      clients.push_back(std::make_shared<Client>(*fake.engine, pool, totals));
      clients.back()->start(std::move(request));
      const std::size_t whose = i - std::min<std::size_t>(i, random() % kBehind);
      clients[whose]->change_mind(static_cast<Whim>(random() % kNumWhims));
      clients.back()->change_mind(whim);
    }
    pool.join();  // When no read waits any more.
  }
  BOOST_TEST(totals.wrong == 0U);
  BOOST_TEST(totals.ends + totals.dropped == kRequests);
  BOOST_TEST(totals.ends > 0U);
  BOOST_TEST(totals.dropped > 0U);
  const EngineStats stats = idle_stats(*fake.engine);
  BOOST_TEST(stats.submitted == kRequests);
  BOOST_TEST(std::accumulate(stats.finished.begin(), stats.finished.end(), std::uint64_t{0}) ==
             kRequests);
  BOOST_TEST(stats.pages_held == 0U);
  BOOST_TEST(fake.probe->violations() == 0U, fake.probe->first_violation());
}

/// How everything comes to an end while requests are under way.
enum class End : std::uint8_t { stop, destroy, drop_context };
constexpr unsigned kNumEnds = 3;

/// A round: requests, changes of mind, and in between the end. A context that ends takes its reads
/// with it, so that its clients hear of no end.
void end_among_cancellations(End end, std::mt19937& random, Totals& totals) {
  constexpr std::size_t kRequests = 60;
  FakeEngine fake(tiny_options(), 0);
  const std::size_t ends_at = random() % kRequests;
  std::size_t sent = 0;
  {
    asio::thread_pool pool(2);
    std::vector<std::shared_ptr<Client>> clients;
    const auto change_one = [&] {
      const Whim whim = static_cast<Whim>(random() % kNumWhims);
      if (!clients.empty()) clients[random() % clients.size()]->change_mind(whim);
    };
    for (std::size_t i = 0; i < kRequests; ++i) {
      if (i == ends_at) {
        for (int more = 0; more < 8; ++more) change_one();
        if (end == End::stop) fake.engine->stop();
        if (end == End::destroy) fake.engine.reset();
        if (end == End::drop_context) pool.stop();
      }
      if (i >= ends_at && end != End::stop) break;  // Nobody is there to be asked.
      clients.push_back(std::make_shared<Client>(*fake.engine, pool, totals));
      clients.back()->start_here(varied_request(static_cast<std::uint32_t>(i), 1 + random() % 20));
      ++sent;
      change_one();
    }
    pool.join();
  }
  if (end != End::drop_context) BOOST_TEST(totals.ends + totals.dropped == sent);
  if (end == End::drop_context) BOOST_TEST(idle_stats(*fake.engine).pages_held == 0U);
  BOOST_TEST(fake.probe->violations() == 0U, fake.probe->first_violation());
}

BOOST_AUTO_TEST_CASE(g06_the_engine_or_the_context_ends_among_cancellations) {
  constexpr unsigned kRounds = 150;
  std::mt19937 random(7);
  for (unsigned round = 0; round < kRounds; ++round) {
    BOOST_TEST_CONTEXT("round " << round) {
      Totals totals;
      end_among_cancellations(static_cast<End>(round % kNumEnds), random, totals);
      BOOST_TEST(totals.wrong == 0U);
    }
  }
}

}  // namespace
}  // namespace tickertape::test
