// SimScheduler, TimerHeap, SleepOp: virtual time, seeded order, replay, and digests that are equal
// for all compilers.
#include "runtime/sim_scheduler.hpp"

#include <boost/test/unit_test.hpp>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "runtime/mailbox.hpp"
#include "runtime/scope.hpp"
#include "runtime/sleep.hpp"
#include "runtime/task.hpp"

namespace tickertape::runtime::test {
namespace {

/// Appends its tag to a log when it runs.
struct Note : Work {
  Note(std::vector<std::uint32_t>& out, std::uint32_t name) : log(out) {
    tag = name;
    run = [](Work* work) { static_cast<Note*>(work)->log.push_back(work->tag); };
  }
  std::vector<std::uint32_t>& log;
};

struct Alarm : Timer {
  explicit Alarm(std::vector<Alarm*>& out) : log(out) {
    fire = [](Timer* timer) {
      auto* self = static_cast<Alarm*>(timer);
      self->log.push_back(self);
    };
  }
  std::vector<Alarm*>& log;
};

std::vector<std::uint32_t> order_of_ten(std::uint64_t seed) {
  SimScheduler scheduler(seed);
  std::vector<std::uint32_t> log;
  std::vector<std::unique_ptr<Note>> notes;
  for (std::uint32_t i = 0; i < 10; ++i) {
    notes.push_back(std::make_unique<Note>(log, i));
    scheduler.post(notes.back().get());
  }
  BOOST_TEST(scheduler.run(100));
  return log;
}

/// Some actors that talk, wait and give up: a world with enough choices for a digest.
struct ToyWorld {
  explicit ToyWorld(std::uint64_t seed) : scheduler(seed) {
    if (seed % 2 == 1) scheduler.delay_posts(64, 40'000);
    for (std::uint32_t i = 0; i < 6; ++i) {
      boxes.push_back(std::make_unique<Mailbox<int>>(scheduler, 4, 100 + i));
    }
  }

  SimScheduler scheduler;
  std::vector<std::unique_ptr<Mailbox<int>>> boxes;
  Scope scope{scheduler, 1};
};

Task<> gossip(ToyWorld& world, std::size_t self) {
  for (int round = 0; round < 20; ++round) {
    const auto other = static_cast<std::size_t>(world.scheduler.random(world.boxes.size()));
    const PushResult pushed = world.boxes[other]->push(round);
    world.scheduler.trace(7, other, static_cast<std::uint64_t>(pushed));
    const auto patience = static_cast<Nanoseconds>(world.scheduler.random(50'000));
    const Nanoseconds deadline = world.scheduler.now() + patience;
    const auto got = co_await world.boxes[self]->receive(&world.scope.stop(), deadline);
    world.scheduler.trace(8, self, static_cast<std::uint64_t>(got.status));
    if (!got) static_cast<void>(co_await sleep_for(world.scheduler, 1 + patience / 2));
  }
}

std::uint64_t toy_digest(std::uint64_t seed, std::ostream* trace = nullptr) {
  ToyWorld world(seed);
  world.scheduler.set_trace(trace);
  for (std::size_t i = 0; i < world.boxes.size(); ++i) world.scope.spawn(gossip(world, i));
  BOOST_TEST(world.scheduler.run(100'000));
  BOOST_TEST(world.scope.size() == 0u);
  return world.scheduler.digest();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(sim_scheduler)

BOOST_AUTO_TEST_CASE(order_is_drawn_from_the_seed) {
  std::set<std::vector<std::uint32_t>> orders;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const auto order = order_of_ten(seed);
    BOOST_TEST((order == order_of_ten(seed)));
    BOOST_TEST(std::set<std::uint32_t>(order.begin(), order.end()).size() == 10u);
    orders.insert(order);
  }
  BOOST_TEST(orders.size() == 50u);
}

BOOST_AUTO_TEST_CASE(seeds_replay_to_the_same_digest_and_differ_from_each_other) {
  std::set<std::uint64_t> digests;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const std::uint64_t digest = toy_digest(seed);
    BOOST_TEST(digest == toy_digest(seed));
    digests.insert(digest);
  }
  BOOST_TEST(digests.size() == 200u);
}

BOOST_AUTO_TEST_CASE(the_digest_is_the_same_with_every_compiler) {
  std::uint64_t all = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) all = all * 31 + toy_digest(seed);
  BOOST_TEST(all == 16933028894970628192u);
}

BOOST_AUTO_TEST_CASE(the_clock_jumps_to_the_next_timer_only_when_nothing_is_ready) {
  SimScheduler scheduler(1);
  std::vector<Alarm*> fired;
  std::vector<std::uint32_t> ran;
  Alarm late(fired);
  Alarm early(fired);
  Note note(ran, 1);
  scheduler.arm(&late, 2'000);
  scheduler.arm(&early, 1'000);
  scheduler.post(&note);
  scheduler.step();
  BOOST_TEST(ran.size() == 1u);
  BOOST_TEST(scheduler.now() == 0);
  scheduler.step();
  BOOST_TEST(scheduler.now() == 1'000);
  scheduler.disarm(&early);
  scheduler.arm(&early, 500);
  BOOST_TEST(scheduler.run(10));
  BOOST_TEST((fired == std::vector<Alarm*>{&early, &early, &late}));
  BOOST_TEST(scheduler.now() == 2'000);
  BOOST_TEST(!scheduler.step());
}

BOOST_AUTO_TEST_CASE(a_timer_armed_for_never_is_disarmed) {
  SimScheduler scheduler(1);
  std::vector<Alarm*> fired;
  Alarm alarm(fired);
  scheduler.arm(&alarm, 5);
  scheduler.arm(&alarm, kNever);
  BOOST_TEST(!alarm.armed());
  BOOST_TEST(!scheduler.step());
}

BOOST_AUTO_TEST_CASE(cancel_takes_ready_and_delayed_works_out) {
  for (const unsigned per_1024 : {0u, 1024u}) {
    SimScheduler scheduler(1);
    if (per_1024 != 0) scheduler.delay_posts(per_1024, 100);
    std::vector<std::uint32_t> ran;
    Note kept(ran, 1);
    Note dropped(ran, 2);
    scheduler.post(&dropped);
    scheduler.post(&kept);
    BOOST_TEST(scheduler.cancel(&dropped));
    BOOST_TEST(!scheduler.cancel(&dropped));
    BOOST_TEST(scheduler.run(10));
    BOOST_TEST((ran == std::vector<std::uint32_t>{1}));
    BOOST_TEST((scheduler.now() > 0) == (per_1024 != 0));
  }
}

namespace {

Task<> forever(Scheduler& scheduler) {
  for (;;) static_cast<void>(co_await sleep_for(scheduler, 1));
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_world_that_never_ends_meets_the_step_bound) {
  SimScheduler scheduler(1);
  Scope scope(scheduler);
  scope.spawn(forever(scheduler));
  BOOST_TEST(!scheduler.run(1'000));
  BOOST_TEST(scheduler.steps() == 1'000u);
}

BOOST_AUTO_TEST_CASE(every_event_is_one_line_of_the_trace) {
  SimScheduler scheduler(1);
  std::ostringstream out;
  scheduler.set_trace(&out);
  scheduler.delay_posts(1024, 1);
  std::vector<std::uint32_t> ran;
  Note note(ran, 42);
  scheduler.post(&note);
  BOOST_TEST(scheduler.run(10));
  scheduler.trace(3, 4, 5);
  BOOST_TEST(out.str() == "1 1 T 1\n1 1 D 42\n2 1 W 42\n2 1 X 3 4 5\n");
}

BOOST_AUTO_TEST_CASE(tracing_does_not_change_the_schedule) {
  std::ostringstream out;
  BOOST_TEST(toy_digest(11, &out) == toy_digest(11));
  BOOST_TEST(!out.str().empty());
}

BOOST_AUTO_TEST_CASE(random_numbers_below_n_are_below_n_and_reach_all_values) {
  SimScheduler scheduler(77);
  std::map<std::uint64_t, int> counts;
  for (int i = 0; i < 7'000; ++i) ++counts[scheduler.random(7)];
  BOOST_TEST(counts.size() == 7u);
  BOOST_TEST(counts.rbegin()->first == 6u);
  for (const auto& [value, count] : counts) BOOST_TEST(count > 800);
}

BOOST_AUTO_TEST_CASE(the_timer_heap_agrees_with_a_sorted_set) {
  SimScheduler random(9);
  TimerHeap heap;
  std::vector<std::unique_ptr<Timer>> timers;
  std::set<std::pair<std::pair<Nanoseconds, std::uint64_t>, Timer*>> model;
  const auto key = [](Timer* t) { return std::make_pair(std::make_pair(t->when, t->seq), t); };
  for (int i = 0; i < 200; ++i) timers.push_back(std::make_unique<Timer>());
  for (int i = 0; i < 20'000; ++i) {
    Timer* timer = timers[random.random(timers.size())].get();
    if (timer->armed()) model.erase(key(timer));
    if (random.random(3) == 0) {
      heap.disarm(timer);
    } else {
      heap.arm(timer, static_cast<Nanoseconds>(random.random(50)));
      model.insert(key(timer));
    }
    BOOST_REQUIRE_EQUAL(heap.empty(), model.empty());
    if (!model.empty()) BOOST_REQUIRE(&heap.first() == model.begin()->second);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace tickertape::runtime::test
