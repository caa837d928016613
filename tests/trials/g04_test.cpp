// G04: the end of a stream is a message, and neither a close nor a cancellation loses one.
//
// With --long after "--": 100,000 rounds with a mailbox, 2,000 with an engine.
#include <atomic>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/test/unit_test.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "runtime/asio_scheduler.hpp"
#include "runtime/mailbox.hpp"
#include "runtime/scope.hpp"
#include "runtime/sim_scheduler.hpp"
#include "runtime/task.hpp"
#include "tests/support/engine_fixture.hpp"
#include "tests/support/long_form.hpp"

namespace tickertape::test {
namespace {

using runtime::Mailbox;
using runtime::PushResult;
using runtime::ReceiveStatus;
using runtime::Task;
using Numbers = Mailbox<int>;

constexpr int kEnd = -1;
constexpr int kProduced = 100;

std::uint64_t rounds(std::uint64_t usually, std::uint64_t in_long_form = 100'000) {
  return is_long_form() ? in_long_form : usually;
}

/// Sends 0, 1, ..., kProduced - 1 and the end, then closes.
void produce(Numbers& box) {
  for (int i = 0; i < kProduced; ++i) BOOST_TEST_REQUIRE((box.push(i) == PushResult::ok));
  BOOST_TEST_REQUIRE((box.push(kEnd) == PushResult::ok));
  box.close();
}

/// Counts whole deliveries: everything in order, the end, and only then that the box is closed.
Task<> consume(Numbers& box, std::uint64_t& whole) {
  int expected = 0;
  for (;;) {
    const auto received = co_await box.receive();
    if (!received || *received.message == kEnd) break;
    if (*received.message != expected++) co_return;
  }
  const auto after = co_await box.receive();
  if (expected == kProduced && after.status == ReceiveStatus::closed) ++whole;
}

BOOST_AUTO_TEST_CASE(g04_mailbox_what_was_sent_before_the_end_arrives_before_it) {
  const std::uint64_t num_rounds = rounds(2'000);
  std::uint64_t whole = 0;
  for (std::uint64_t round = 0; round < num_rounds; ++round) {
    runtime::SimScheduler scheduler(round);
    Numbers box(scheduler, kProduced + 1, 0);
    runtime::Scope scope(scheduler);
    if (round % 2 == 0) produce(box);
    scope.spawn(consume(box, whole));
    if (round % 3 == 0) scheduler.run(1'000'000);
    if (round % 2 == 1) produce(box);
    scheduler.run(1'000'000);
  }
  BOOST_TEST(whole == num_rounds);
}

BOOST_AUTO_TEST_CASE(g04_mailbox_a_thread_as_producer) {
  const std::uint64_t num_rounds = rounds(300);
  std::uint64_t whole = 0;
  for (std::uint64_t round = 0; round < num_rounds; ++round) {
    asio::io_context io(1);
    runtime::AsioScheduler scheduler(io);
    Numbers box(scheduler, kProduced + 1, 0);
    runtime::Scope scope(scheduler);
    scope.spawn(consume(box, whole));
    std::thread producer([&box] { produce(box); });
    const auto work = asio::make_work_guard(io);
    while (scope.size() > 0) io.run_one();
    producer.join();
  }
  BOOST_TEST(whole == num_rounds);
}

BOOST_AUTO_TEST_CASE(g04_mailbox_a_consumer_that_goes_lets_its_producer_go) {
  const std::uint64_t num_rounds = rounds(200);
  runtime::SimScheduler scheduler(1);
  std::uint64_t returned = 0;
  for (std::uint64_t round = 0; round < num_rounds; ++round) {
    Numbers box(scheduler, 4, 0);
    std::thread producer([&] {
      // `full` and `closed` are told apart: one is to wait for, the other is the end.
      for (PushResult sent = PushResult::ok; sent != PushResult::closed; sent = box.push(0)) {
        if (sent == PushResult::full) std::this_thread::yield();
      }
      ++returned;
    });
    for (std::uint64_t taken = 0; taken < round % 7;) {
      if (box.try_receive()) {
        ++taken;
      } else {
        std::this_thread::yield();
      }
    }
    box.close();
    producer.join();
  }
  BOOST_TEST(returned == num_rounds);
}

/// Receives with a stop that comes at any moment; what a stopped receive left is there afterwards.
Task<> receive_and_stop(asio::io_context& io, Numbers& box, std::atomic<int>& asked, int num_rounds,
                        int& lost) {
  for (int round = 0; round < num_rounds; ++round) {
    const auto stop = std::make_shared<runtime::StopSource>();
    asked.store(round, std::memory_order_release);
    asio::post(io, [stop] { stop->request_stop(); });
    const auto received = co_await box.receive(stop.get());
    int number = received ? *received.message : kEnd;
    if (!received) {
      const auto next = co_await box.receive();
      number = *next.message;
    }
    if (number != round) ++lost;
  }
}

BOOST_AUTO_TEST_CASE(g04_mailbox_a_cancelled_receive_leaves_the_message_to_the_next) {
  const int num_rounds = static_cast<int>(rounds(5'000));
  asio::io_context io(1);
  runtime::AsioScheduler scheduler(io);
  Numbers box(scheduler, 4, 0);
  runtime::Scope scope(scheduler);
  std::atomic<int> asked{-1};
  int lost = 0;
  std::thread producer([&] {
    for (int round = 0; round < num_rounds; ++round) {
      while (asked.load(std::memory_order_acquire) < round) std::this_thread::yield();
      BOOST_TEST_REQUIRE((box.push(round) == PushResult::ok));
    }
  });
  scope.spawn(receive_and_stop(io, box, asked, num_rounds, lost));
  const auto work = asio::make_work_guard(io);
  while (scope.size() > 0) io.run_one();
  producer.join();
  BOOST_TEST(lost == 0);
}

Request hundred(std::uint64_t seed) {
  Request request;
  request.prompt_ids = {5, 6, 7};
  request.max_tokens = kProduced;
  request.window = kProduced;
  request.sampling.seed = seed;
  request.sampling.ignore_eos = true;
  return request;
}

asio::awaitable<void> read_ids(TokenStream& stream, std::vector<TokenId>& ids) {
  while (const auto token = co_await stream.async_next(asio::use_awaitable)) {
    ids.push_back(token->id);
  }
}

BOOST_AUTO_TEST_CASE(g04_stream_a_late_reader_gets_everything_and_the_end) {
  EngineOptions options = tiny_options();
  options.num_kv_pages = 512;
  const FakeEngine fake(options, 0);
  const std::uint64_t num_rounds = rounds(100, 2'000);
  for (std::uint64_t round = 0; round < num_rounds; ++round) {
    asio::io_context io;
    const Request request = hundred(round);
    TokenStream stream = fake.engine->submit(io.get_executor(), request);
    idle_stats(*fake.engine);  // The lane has sent the end: nobody has read a token yet.
    std::vector<TokenId> ids;
    asio::co_spawn(io, read_ids(stream, ids), rethrow);
    io.run();
    BOOST_TEST(ids == fake.expected(request), boost::test_tools::per_element());
    BOOST_TEST((stream.finish().reason == FinishReason::length));
  }
}

BOOST_AUTO_TEST_CASE(g04_stream_a_reader_that_goes_lets_the_lane_go) {
  const FakeEngine fake(tiny_options(), 0);
  asio::io_context io;
  const std::uint64_t num_rounds = rounds(500, 2'000);
  for (std::uint64_t round = 0; round < num_rounds; ++round) {
    TokenStream stream = fake.engine->submit(io.get_executor(), hundred(round));
    std::size_t left = round % 9;
    std::function<void()> read = [&] {
      if (left-- == 0) return stream.cancel();
      stream.async_next([&](error_code, std::optional<Token> token) {
        if (token) read();
      });
    };
    read();
    io.restart();
    io.run();
    if (round % 2 == 0) stream = TokenStream();
  }
  const EngineStats stats = idle_stats(*fake.engine);
  BOOST_TEST(stats.num_running + stats.num_waiting == 0U);
  BOOST_TEST(stats.pages_held == 0U);
}

/// Starts a read and cancels it at once, or after what was posted before it, or not at all; the
/// next read goes on where the last token was.
class Waverer {
 public:
  Waverer(Engine& engine, asio::io_context& io, std::uint64_t seed)
      : io_(io), random_(seed), stream_(engine.submit(io.get_executor(), hundred(seed))) {}

  void read() {
    signal_.emplace();
    stream_.async_next(asio::bind_cancellation_slot(
        signal_->slot(), [this](error_code error, std::optional<Token> token) {
          if (error == asio::error::operation_aborted) {
            ++cancelled;
          } else if (!token) {
            return;
          } else if (token->seq == tokens) {
            ++tokens;
          }
          read();
        }));
    random_ = random_ * 6364136223846793005U + 1442695040888963407U;
    switch (random_ >> 62) {
      case 0:
        return signal_->emit(asio::cancellation_type::total);
      case 1:
        return asio::post(io_, [this] { signal_->emit(asio::cancellation_type::partial); });
      default:
        return;
    }
  }

  std::uint64_t tokens = 0;
  std::uint64_t cancelled = 0;

 private:
  asio::io_context& io_;
  std::uint64_t random_;
  TokenStream stream_;
  std::optional<asio::cancellation_signal> signal_;
};

/// One round of each of `count` readers at once; gives how many reads were cancelled.
std::uint64_t waver(Engine& engine, std::uint64_t first_seed, std::uint64_t count) {
  asio::io_context io(1);
  std::vector<std::unique_ptr<Waverer>> readers;
  for (std::uint64_t i = 0; i < count; ++i) {
    readers.push_back(std::make_unique<Waverer>(engine, io, first_seed + i));
    readers.back()->read();
  }
  io.run();
  std::uint64_t cancelled = 0;
  for (const auto& reader : readers) {
    BOOST_TEST(reader->tokens == std::uint64_t{kProduced});
    cancelled += reader->cancelled;
  }
  return cancelled;
}

BOOST_AUTO_TEST_CASE(g04_stream_a_cancelled_read_leaves_the_token_to_the_next) {
  constexpr std::uint64_t kAtOnce = 200;
  EngineOptions options = tiny_options();
  options.num_kv_pages = 512;
  options.max_num_seqs = 64;
  const FakeEngine fake(options, 0);
  const std::uint64_t num_rounds = rounds(kAtOnce, 2'000);
  for (std::uint64_t round = 0; round < num_rounds; round += kAtOnce) {
    BOOST_TEST(waver(*fake.engine, round, kAtOnce) > 0U);
  }
}

}  // namespace
}  // namespace tickertape::test
