// AsioScheduler: coalesced posts, timers, foreign producers, and its own end.
#include "runtime/asio_scheduler.hpp"

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/test/unit_test.hpp>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "runtime/mailbox.hpp"
#include "runtime/scope.hpp"
#include "runtime/sleep.hpp"
#include "runtime/task.hpp"

namespace tickertape::runtime::test {
namespace {

struct Note : Work {
  Note(std::vector<int>& out, int which) : log(out), number(which) {
    run = [](Work* work) {
      auto* self = static_cast<Note*>(work);
      self->log.push_back(self->number);
    };
  }
  std::vector<int>& log;
  int number;
};

struct Fixture {
  boost::asio::io_context io{1};
  AsioScheduler scheduler{io};
  std::vector<int> log;
  std::vector<std::unique_ptr<Note>> notes;

  Work* note(int number) {
    notes.push_back(std::make_unique<Note>(log, number));
    return notes.back().get();
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(asio_scheduler, Fixture)

BOOST_AUTO_TEST_CASE(a_burst_of_posts_is_one_handler_and_keeps_order) {
  for (int i = 0; i < 100; ++i) scheduler.post(note(i));
  BOOST_TEST(log.empty());
  BOOST_TEST(io.poll() == 1u);
  BOOST_REQUIRE(log.size() == 100u);
  for (int i = 0; i < 100; ++i) BOOST_TEST(log[static_cast<std::size_t>(i)] == i);
  io.restart();
  BOOST_TEST(io.poll() == 0u);
  scheduler.post(note(7));
  io.restart();
  BOOST_TEST(io.poll() == 1u);
  BOOST_TEST(log.back() == 7);
}

BOOST_AUTO_TEST_CASE(many_works_leave_room_for_other_handlers) {
  for (int i = 0; i < 10'000; ++i) scheduler.post(note(i));
  std::size_t seen = 0;
  boost::asio::post(io, [this, &seen] { seen = log.size(); });
  io.run();
  BOOST_TEST(log.size() == 10'000u);
  BOOST_TEST(seen > 0u);
  BOOST_TEST(seen < 1'000u);
}

BOOST_AUTO_TEST_CASE(cancel_takes_a_work_out_wherever_it_stands) {
  for (const int victim : {0, 5, 9}) {
    log.clear();
    notes.clear();
    for (int i = 0; i < 10; ++i) scheduler.post(note(i));
    BOOST_TEST(scheduler.cancel(notes[static_cast<std::size_t>(victim)].get()));
    BOOST_TEST(!scheduler.cancel(notes[static_cast<std::size_t>(victim)].get()));
    scheduler.post(note(10));
    io.restart();
    io.run();
    BOOST_TEST(log.size() == 10u);
    BOOST_TEST(std::count(log.begin(), log.end(), victim) == 0);
    BOOST_TEST(std::is_sorted(log.begin(), log.end()));
    BOOST_TEST(!scheduler.cancel(notes[5].get()));
  }
}

namespace {

Task<> sleeps(Scheduler& scheduler, Nanoseconds when, StopSource* stop, std::vector<int>& log,
              int number) {
  const bool woke = co_await sleep_until(scheduler, when, stop);
  log.push_back(woke ? number : -number);
}

}  // namespace

BOOST_AUTO_TEST_CASE(timers_fire_in_order_and_the_context_then_runs_out_of_work) {
  Scope scope(scheduler);
  const Nanoseconds start = scheduler.now();
  scope.spawn(sleeps(scheduler, start + 3'000'000, nullptr, log, 3));
  scope.spawn(sleeps(scheduler, start + 1'000'000, nullptr, log, 1));
  scope.spawn(sleeps(scheduler, start + 2'000'000, nullptr, log, 2));
  scope.spawn(sleeps(scheduler, start - 5, nullptr, log, 9));
  io.run();
  BOOST_TEST((log == std::vector<int>{9, 1, 2, 3}));
  BOOST_TEST(scheduler.now() >= start + 3'000'000);
}

BOOST_AUTO_TEST_CASE(a_stop_ends_a_long_sleep_and_the_alarm_with_it) {
  Scope scope(scheduler);
  scope.spawn(sleeps(scheduler, scheduler.now() + 3'600'000'000'000, &scope.stop(), log, 1));
  scope.spawn(sleeps(scheduler, kNever, &scope.stop(), log, 2));
  io.poll();
  BOOST_TEST(log.empty());
  scope.stop().request_stop();
  io.run();
  BOOST_TEST((log == std::vector<int>{-1, -2}));
}

namespace {

Task<> spin_on_timers(Scheduler& scheduler, const bool& stop) {
  while (!stop) static_cast<void>(co_await sleep_until(scheduler, 0));
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_coroutine_that_always_sleeps_until_now_does_not_keep_the_context) {
  bool stop = false;
  Scope scope(scheduler);
  scope.spawn(spin_on_timers(scheduler, stop));
  io.poll_one();
  boost::asio::post(io, [&stop] { stop = true; });
  io.run();
  BOOST_TEST(scope.size() == 0u);
}

BOOST_AUTO_TEST_CASE(handlers_that_are_queued_when_it_dies_do_nothing) {
  auto brief = std::make_unique<AsioScheduler>(io);
  Note posted(log, 1);
  Timer timer;
  brief->post(&posted);
  brief->arm(&timer, brief->now() + 3'600'000'000'000);
  brief.reset();
  io.run();
  BOOST_TEST(log.empty());
}

namespace {

constexpr int kProducers = 4;
constexpr int kPerProducer = 25'000;

Task<> consume(Scheduler& scheduler, Mailbox<int>& box, int& received, bool& in_order, bool batch) {
  std::vector<int> next(kProducers, 0);
  std::vector<int> messages;
  while (received < kProducers * kPerProducer) {
    messages.clear();
    if (batch) {
      static_cast<void>(co_await box.receive_batch(messages));
    } else {
      const Received<int> got = co_await box.receive(nullptr, scheduler.now() + 1'000'000);
      if (got) messages.push_back(*got.message);
    }
    for (const int message : messages) {
      in_order &= next[static_cast<std::size_t>(message % kProducers)]++ == message / kProducers;
      ++received;
    }
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(four_threads_push_and_nothing_is_lost_or_reordered) {
  for (const bool batch : {false, true}) {
    Mailbox<int> box(scheduler, 256, 1);
    Scope scope(scheduler);
    int received = 0;
    bool in_order = true;
    scope.spawn(consume(scheduler, box, received, in_order, batch));
    const auto guard = boost::asio::make_work_guard(io);
    std::vector<std::thread> threads;
    for (int producer = 0; producer < kProducers; ++producer) {
      threads.emplace_back([&box, producer] {
        for (int i = 0; i < kPerProducer;) {
          if (box.push(i * kProducers + producer) == PushResult::ok) {
            ++i;
          } else {
            box.wake();
            std::this_thread::yield();
          }
        }
      });
    }
    while (scope.size() != 0) io.run_one();
    for (std::thread& thread : threads) thread.join();
    BOOST_TEST(received == kProducers * kPerProducer);
    BOOST_TEST(in_order);
    BOOST_TEST(box.high_water() <= 256u);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace tickertape::runtime::test
