// Scope and Event: joining, failing, stopping, and being destroyed with children inside.
#include "runtime/scope.hpp"

#include <boost/test/unit_test.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/event.hpp"
#include "runtime/sim_scheduler.hpp"
#include "runtime/sleep.hpp"
#include "tests/unit/runtime/live.hpp"

namespace tickertape::runtime::test {
namespace {

Task<> sleeper(Scheduler& scheduler, Nanoseconds duration, StopSource* stop, std::string& out) {
  const Live live;
  const bool woke = co_await sleep_for(scheduler, duration, stop);
  out += woke ? "woke " : "stopped ";
}

Task<> fails_after(Scheduler& scheduler, Nanoseconds duration, std::string what) {
  const Live live;
  static_cast<void>(co_await sleep_for(scheduler, duration));
  throw std::runtime_error(what);
}

Task<> join_into(Scope& scope, std::string& out) {
  try {
    co_await scope.join();
    out += "joined ";
  } catch (const std::runtime_error& error) {
    out += std::string("failed:") + error.what() + " ";
  }
}

std::string what(const std::exception_ptr& error) {
  if (!error) return "ok";
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& exception) {
    return exception.what();
  }
}

struct Fixture {
  SimScheduler scheduler{5};
  std::string out;
  Scope outer{scheduler};
  Scope scope{scheduler};

  void join() { outer.spawn(join_into(scope, out)); }
  void run() { BOOST_TEST(scheduler.run(10'000)); }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(scope_and_event, Fixture)

BOOST_AUTO_TEST_CASE(join_waits_for_every_child) {
  for (const int duration : {30, 10, 20}) {
    scope.spawn(sleeper(scheduler, duration, &scope.stop(), out));
  }
  join();
  BOOST_TEST(scope.size() == 3u);
  run();
  BOOST_TEST(out == "woke woke woke joined ");
  BOOST_TEST(scope.size() == 0u);
  BOOST_TEST(scheduler.now() == 30);
  BOOST_TEST(Live::count() == 0);
}

BOOST_AUTO_TEST_CASE(join_of_an_empty_scope_does_not_wait) {
  join();
  scheduler.step();
  BOOST_TEST(out == "joined ");
}

BOOST_AUTO_TEST_CASE(the_first_failure_stops_the_siblings_and_is_rethrown_once) {
  scope.spawn(sleeper(scheduler, 1'000, &scope.stop(), out));
  scope.spawn(fails_after(scheduler, 10, "first"));
  scope.spawn(fails_after(scheduler, 20, "second"));
  join();
  run();
  BOOST_TEST(out == "stopped failed:first ");
  BOOST_TEST(scheduler.now() == 20);
  join();
  run();
  BOOST_TEST(out == "stopped failed:first joined ");
}

BOOST_AUTO_TEST_CASE(a_child_with_a_handler_fails_alone) {
  std::string told;
  scope.spawn(sleeper(scheduler, 50, &scope.stop(), out));
  const auto down = [&told](std::exception_ptr error) { told += what(error) + " "; };
  scope.spawn(fails_after(scheduler, 10, "alone"), down);
  scope.spawn(sleeper(scheduler, 20, nullptr, out), down);
  join();
  run();
  BOOST_TEST(told == "alone ok ");
  BOOST_TEST(out == "woke woke joined ");
}

BOOST_AUTO_TEST_CASE(a_handler_that_throws_fails_the_scope) {
  scope.spawn(sleeper(scheduler, 10, nullptr, out),
              [](std::exception_ptr) { throw std::runtime_error("handler"); });
  join();
  run();
  BOOST_TEST(out == "woke failed:handler ");
}

BOOST_AUTO_TEST_CASE(a_handler_may_spawn_the_successor_that_join_waits_for) {
  scope.spawn(sleeper(scheduler, 10, nullptr, out),
              [this](std::exception_ptr) { scope.spawn(sleeper(scheduler, 10, nullptr, out)); });
  join();
  run();
  BOOST_TEST(out == "woke woke joined ");
  BOOST_TEST(scheduler.now() == 20);
}

BOOST_AUTO_TEST_CASE(the_owner_can_stop_it) {
  for (int i = 0; i < 3; ++i) scope.spawn(sleeper(scheduler, kNever - 1, &scope.stop(), out));
  join();
  for (int i = 0; i < 4; ++i) scheduler.step();
  scope.stop().request_stop();
  BOOST_TEST(out == "");
  run();
  BOOST_TEST(out == "stopped stopped stopped joined ");
  BOOST_TEST(scheduler.now() == 0);
}

BOOST_AUTO_TEST_CASE(children_are_destroyed_with_the_scope) {
  {
    Scope brief(scheduler);
    brief.spawn(sleeper(scheduler, 10, &brief.stop(), out));
    scheduler.step();
    brief.spawn(sleeper(scheduler, 10, &brief.stop(), out));
    BOOST_TEST(Live::count() == 1);
  }
  BOOST_TEST(Live::count() == 0);
  run();
  BOOST_TEST(out == "");
}

namespace {

Task<> waits(Event& event, StopSource* stop, std::string& out) {
  const Live live;
  const bool set = co_await event.wait(stop);
  out += set ? "set " : "stopped ";
}

}  // namespace

BOOST_AUTO_TEST_CASE(an_event_lets_all_waiters_go_and_stays_set_until_reset) {
  Event event(scheduler, 9);
  for (int i = 0; i < 3; ++i) scope.spawn(waits(event, nullptr, out));
  run();
  BOOST_TEST(out == "");
  event.set();
  event.reset();
  BOOST_TEST(out == "");
  run();
  BOOST_TEST(out == "set set set ");
  scope.spawn(waits(event, &scope.stop(), out));
  run();
  scope.stop().request_stop();
  run();
  BOOST_TEST(out == "set set set stopped ");
  event.set();
  scope.spawn(waits(event, &scope.stop(), out));
  run();
  BOOST_TEST(out == "set set set stopped set ");
}

BOOST_AUTO_TEST_CASE(an_event_may_die_before_and_after_its_waiters) {
  {
    Event event(scheduler);
    scope.spawn(waits(event, nullptr, out));
    run();
  }
  Event event(scheduler);
  {
    Scope brief(scheduler);
    brief.spawn(waits(event, nullptr, out));
    run();
    event.set();
  }
  run();
  BOOST_TEST(out == "");
}

namespace {

Task<> family(Scheduler& scheduler, int depth, StopSource* stop) {
  const Live live;
  Scope children(scheduler);
  Event ready(scheduler);
  std::string log;
  if (depth > 0) {
    for (int i = 0; i < 3; ++i) children.spawn(family(scheduler, depth - 1, &children.stop()));
    children.spawn(waits(ready, &children.stop(), log));
    children.spawn(fails_after(scheduler, 7, "child"),
                   [&ready](std::exception_ptr) { ready.set(); });
    if (depth == 2) children.spawn(fails_after(scheduler, 9, "fatal"));
  }
  static_cast<void>(co_await sleep_for(scheduler, 5, stop));
  try {
    co_await children.join();
  } catch (const std::runtime_error&) {
    log += "failed";
  }
}

struct FamilyWorld {
  explicit FamilyWorld(SimScheduler& scheduler) : scope(scheduler) {
    scope.spawn(family(scheduler, 2, &scope.stop()));
  }
  Scope scope;
};

}  // namespace

BOOST_AUTO_TEST_CASE(may_be_destroyed_at_every_suspension) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    abandon_everywhere<FamilyWorld>(seed, seed % 2 == 1);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace tickertape::runtime::test
