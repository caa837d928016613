// Mailbox: order, bounds, every way a receive can end, no loss, abandonment.
#include "runtime/mailbox.hpp"

#include <boost/test/unit_test.hpp>
#include <memory>
#include <string>
#include <vector>

#include "runtime/scope.hpp"
#include "runtime/sim_scheduler.hpp"
#include "runtime/sleep.hpp"
#include "runtime/task.hpp"
#include "tests/unit/runtime/live.hpp"

namespace tickertape::runtime::test {
namespace {

const char* name(ReceiveStatus status) {
  switch (status) {
    case ReceiveStatus::message:
      return "message";
    case ReceiveStatus::woken:
      return "woken";
    case ReceiveStatus::closed:
      return "closed";
    case ReceiveStatus::stopped:
      return "stopped";
    case ReceiveStatus::timeout:
      return "timeout";
  }
  return "?";
}

using Box = Mailbox<int>;

/// Receives `count` times and writes down what it got.
Task<> record(Box& box, int count, std::string& out, StopSource* stop, Nanoseconds deadline) {
  for (int i = 0; i < count; ++i) {
    const Received<int> got = co_await box.receive(stop, deadline);
    out += got ? std::to_string(*got.message) : std::string(name(got.status));
    out += ' ';
  }
}

struct Fixture {
  SimScheduler scheduler{1};
  Box box{scheduler, 4, 7};
  StopSource stop;
  std::string out;
  Scope scope{scheduler};

  void receive(int count, Nanoseconds deadline = kNever) {
    scope.spawn(record(box, count, out, &stop, deadline));
  }
  void run() { BOOST_TEST(scheduler.run(10'000)); }
  void push(int value) { BOOST_TEST((box.push(value) == PushResult::ok)); }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(mailbox, Fixture)

BOOST_AUTO_TEST_CASE(keeps_order_and_wraps_around) {
  std::string expected;
  receive(30);
  for (int i = 0; i < 30; ++i) {
    push(i);
    if (i % 3 == 2) run();
    expected += std::to_string(i) + " ";
  }
  run();
  BOOST_TEST(out == expected);
  BOOST_TEST(box.high_water() == 3u);
  BOOST_TEST(box.size() == 0u);
}

BOOST_AUTO_TEST_CASE(is_bounded_and_says_so) {
  for (int i = 0; i < 4; ++i) push(i);
  BOOST_TEST((box.push(4) == PushResult::full));
  BOOST_TEST(*box.try_receive() == 0);
  push(5);
  BOOST_TEST(box.size() == 4u);
  BOOST_TEST(box.high_water() == 4u);
}

BOOST_AUTO_TEST_CASE(delivers_what_was_queued_before_the_close) {
  push(1);
  push(2);
  box.close();
  BOOST_TEST((box.push(3) == PushResult::closed));
  receive(4);
  run();
  BOOST_TEST(out == "1 2 closed closed ");
  BOOST_TEST(box.closed());
}

BOOST_AUTO_TEST_CASE(close_wakes_a_pending_receive) {
  receive(1);
  run();
  BOOST_TEST(out == "");
  box.close();
  run();
  BOOST_TEST(out == "closed ");
}

BOOST_AUTO_TEST_CASE(wakes_are_sticky_and_coalesced) {
  box.wake();
  box.wake();
  receive(2, 10);
  run();
  BOOST_TEST(out == "woken timeout ");
}

BOOST_AUTO_TEST_CASE(a_wake_ends_a_pending_receive) {
  receive(2, 1'000);
  scheduler.step();
  BOOST_TEST(out == "");
  box.wake();
  box.wake();
  run();
  BOOST_TEST(out == "woken timeout ");
}

BOOST_AUTO_TEST_CASE(a_message_goes_before_a_wake_and_the_wake_is_kept) {
  box.wake();
  push(1);
  receive(2);
  run();
  BOOST_TEST(out == "1 woken ");
}

BOOST_AUTO_TEST_CASE(a_message_goes_before_stop_deadline_and_close) {
  push(1);
  push(2);
  stop.request_stop();
  box.close();
  receive(2, -5);
  run();
  BOOST_TEST(out == "1 2 ");
}

BOOST_AUTO_TEST_CASE(a_message_goes_before_a_stop_and_a_deadline_that_came_while_waiting) {
  receive(1, 50);
  scheduler.step();
  stop.request_stop();
  push(1);
  run();
  BOOST_TEST(out == "1 ");
  BOOST_TEST(scheduler.now() == 0);
}

BOOST_AUTO_TEST_CASE(stops_at_once_and_times_out_at_the_deadline) {
  receive(1, 50);
  run();
  BOOST_TEST(out == "timeout ");
  BOOST_TEST(scheduler.now() == 50);
  receive(1, 50);
  run();
  BOOST_TEST(out == "timeout timeout ");
  receive(1, 500);
  scheduler.step();
  stop.request_stop();
  run();
  receive(1);
  run();
  BOOST_TEST(out == "timeout timeout stopped stopped ");
  BOOST_TEST(scheduler.now() == 50);
}

BOOST_AUTO_TEST_CASE(try_receive_takes_without_waiting) {
  BOOST_TEST(!box.try_receive());
  push(9);
  BOOST_TEST(*box.try_receive() == 9);
  BOOST_TEST(!box.try_receive());
}

BOOST_AUTO_TEST_CASE(a_wake_up_whose_message_was_taken_resumes_nobody) {
  receive(1);
  scheduler.step();
  push(1);
  BOOST_TEST(*box.try_receive() == 1);
  run();
  BOOST_TEST(out == "");
  push(2);
  run();
  BOOST_TEST(out == "2 ");
}

BOOST_AUTO_TEST_CASE(a_message_stays_when_the_receiver_is_destroyed_after_the_push) {
  auto doomed = std::make_unique<Scope>(scheduler);
  std::string unused;
  doomed->spawn(record(box, 1, unused, nullptr, 100));
  scheduler.step();
  push(3);
  doomed.reset();
  receive(1);
  run();
  BOOST_TEST(unused == "");
  BOOST_TEST(out == "3 ");
}

BOOST_AUTO_TEST_CASE(a_mailbox_may_die_while_its_wake_up_is_queued) {
  auto brief = std::make_unique<Box>(scheduler, 2, 8);
  {
    Scope receivers(scheduler);
    receivers.spawn(record(*brief, 1, out, nullptr, kNever));
    scheduler.step();
    BOOST_TEST((brief->push(1) == PushResult::ok));
  }
  brief.reset();
  const std::uint64_t before = scheduler.steps();
  run();
  BOOST_TEST(scheduler.steps() == before);
}

namespace {

Task<> record_batches(Mailbox<std::string>& box, std::vector<std::string>& out,
                      std::vector<ReceiveStatus>& statuses, Nanoseconds deadline) {
  for (ReceiveStatus status = ReceiveStatus::message; status != ReceiveStatus::timeout;) {
    status = co_await box.receive_batch(out, nullptr, deadline);
    statuses.push_back(status);
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_batch_takes_all_that_is_queued) {
  Mailbox<std::string> texts(scheduler, 8, 1);
  std::vector<std::string> got;
  std::vector<ReceiveStatus> statuses;
  for (const char* text : {"a", "b", "c"}) BOOST_TEST((texts.push(text) == PushResult::ok));
  Scope readers(scheduler);
  readers.spawn(record_batches(texts, got, statuses, 100));
  scheduler.step();
  BOOST_TEST(got.size() == 3u);
  BOOST_TEST((texts.push("d") == PushResult::ok));
  scheduler.step();
  texts.wake();
  run();
  BOOST_TEST((got == std::vector<std::string>{"a", "b", "c", "d"}));
  BOOST_TEST((statuses == std::vector{ReceiveStatus::message, ReceiveStatus::message,
                                      ReceiveStatus::woken, ReceiveStatus::timeout}));
}

namespace {

/// One message of producer `from`.
struct Numbered {
  Numbered(int who, int which) : from(who), number(which) {}
  int from;
  int number;
};

/// Producers push bursts; the consumer's receives are stopped and time out all the time, and whole
/// consumers are destroyed while they wait.
struct LossWorld {
  static constexpr int kProducers = 4;
  static constexpr int kPerProducer = 5'000;

  explicit LossWorld(std::uint64_t seed)
      : scheduler(seed), box(scheduler, 64, 1), producers(scheduler), others(scheduler) {
    scheduler.delay_posts(seed % 2 == 0 ? 0 : 64, 5'000);
  }

  SimScheduler scheduler;
  Mailbox<Numbered> box;
  StopSource* current = nullptr;
  int next[kProducers] = {};
  int received = 0;
  int num_stopped = 0;
  int num_timeouts = 0;
  int num_destroyed = 0;
  bool in_order = true;
  std::unique_ptr<Scope> consumer;
  Scope producers;
  Scope others;

  [[nodiscard]] bool all() const { return received == kProducers * kPerProducer; }
};

Task<> produce(LossWorld& world, int self) {
  for (int number = 0; number < LossWorld::kPerProducer;) {
    if (world.box.push(Numbered(self, number)) == PushResult::ok) {
      ++number;
      if (world.scheduler.random(4) != 0) continue;
    }
    const auto pause = static_cast<Nanoseconds>(1 + world.scheduler.random(300));
    static_cast<void>(co_await sleep_for(world.scheduler, pause));
  }
}

Task<> consume(LossWorld& world) {
  while (!world.all()) {
    StopSource stop;
    world.current = &stop;
    const auto wait = static_cast<Nanoseconds>(world.scheduler.random(80));
    const auto got = co_await world.box.receive(&stop, world.scheduler.now() + wait);
    world.current = nullptr;
    if (got.status == ReceiveStatus::stopped) ++world.num_stopped;
    if (got.status == ReceiveStatus::timeout) ++world.num_timeouts;
    if (!got) continue;
    world.in_order &= world.next[got.message->from]++ == got.message->number;
    ++world.received;
  }
}

Task<> disturb(LossWorld& world) {
  while (!world.all()) {
    const auto pause = static_cast<Nanoseconds>(1 + world.scheduler.random(60));
    static_cast<void>(co_await sleep_for(world.scheduler, pause));
    if (world.current != nullptr) world.current->request_stop();
    if (world.scheduler.random(16) != 0) continue;
    world.current = nullptr;
    world.consumer = std::make_unique<Scope>(world.scheduler);
    world.consumer->spawn(consume(world));
    ++world.num_destroyed;
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(no_message_of_400000_is_lost_to_stops_deadlines_and_ends) {
  int received = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    LossWorld world(seed);
    for (int i = 0; i < LossWorld::kProducers; ++i) world.producers.spawn(produce(world, i));
    world.others.spawn(disturb(world));
    BOOST_TEST(world.scheduler.run(10'000'000));
    BOOST_TEST(world.in_order);
    BOOST_TEST(world.num_stopped > 100);
    BOOST_TEST(world.num_timeouts > 100);
    BOOST_TEST(world.num_destroyed > 100);
    BOOST_TEST(world.box.size() == 0u);
    received += world.received;
  }
  BOOST_TEST(received == 400'000);
}

namespace {

Task<> drain(Box& box, std::int64_t& sum) {
  for (;;) {
    const Received<int> got = co_await box.receive();
    if (!got) co_return;
    sum += *got.message;
    if (*got.message > 1) static_cast<void>(box.push(*got.message - 1));
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_million_receives_that_never_wait_use_constant_stack) {
  std::int64_t sum = 0;
  push(1'000'000);
  box.wake();
  scope.spawn(drain(box, sum));
  scheduler.step();
  BOOST_TEST(sum == 500'000'500'000);
  BOOST_TEST(scheduler.steps() == 1u);
}

namespace {

Task<> chatty(Scheduler& scheduler, Box& in, Box& out, StopSource& stop, int rounds) {
  const Live live;
  for (int i = 0; i < rounds; ++i) {
    static_cast<void>(out.push(i));
    static_cast<void>(co_await in.receive(&stop, scheduler.now() + 100));
    const Live inner;
    std::vector<int> batch;
    static_cast<void>(co_await in.receive_batch(batch, &stop, scheduler.now() + 3));
    static_cast<void>(co_await sleep_for(scheduler, 2, &stop));
  }
  stop.request_stop();
}

struct ChatWorld {
  explicit ChatWorld(SimScheduler& scheduler)
      : a(scheduler, 4, 1), b(scheduler, 4, 2), scope(scheduler) {
    scope.spawn(chatty(scheduler, a, b, scope.stop(), 5));
    scope.spawn(chatty(scheduler, b, a, scope.stop(), 6));
  }
  Box a;
  Box b;
  Scope scope;
};

}  // namespace

BOOST_AUTO_TEST_CASE(receivers_may_be_destroyed_at_every_suspension) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    abandon_everywhere<ChatWorld>(seed, seed % 2 == 1);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace tickertape::runtime::test
