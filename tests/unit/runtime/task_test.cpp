// Task: results, failures, laziness, constant stack, and being destroyed at any suspension.
#include "runtime/task.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <memory>
#include <stdexcept>
#include <string>

#include "runtime/sim_scheduler.hpp"
#include "runtime/sleep.hpp"
#include "tests/unit/runtime/live.hpp"

namespace tickertape::runtime::test {
namespace {

void ignore(void*) {}
void count(void* context) {
  ++*static_cast<int*>(context);
}

Task<std::string> text(std::string value) {
  co_return value;
}
Task<std::unique_ptr<int>> owned(int value) {
  co_return std::make_unique<int>(value);
}
Task<int> fails() {
  throw std::runtime_error("no");
  co_return 0;
}

Task<> collect(std::string& out) {
  out += co_await text("one ");
  Task<std::unique_ptr<int>> named = owned(2);
  const std::unique_ptr<int> two = co_await std::move(named);
  out += std::to_string(*two);
  try {
    out += std::to_string(co_await fails());
  } catch (const std::runtime_error& error) {
    out += std::string(" ") + error.what();
  }
}

Task<> outer_fails() {
  static_cast<void>(co_await fails());
}

Task<> mark(bool& ran) {
  ran = true;
  co_return;
}

struct StackSpan {
  std::uintptr_t low = UINTPTR_MAX;
  std::uintptr_t high = 0;
};

Task<int> ends_at_once(StackSpan& span, int value) {
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  span.low = std::min(span.low, here);
  span.high = std::max(span.high, here);
  co_return value;
}

Task<> many(StackSpan& span, int num_calls, std::int64_t& sum) {
  for (int i = 0; i < num_calls; ++i) sum += co_await ends_at_once(span, i);
}

Task<int> nested(Scheduler& scheduler, int depth) {
  const Live live;
  if (depth == 0) co_return 0;
  static_cast<void>(co_await sleep_for(scheduler, depth));
  const int below = co_await nested(scheduler, depth - 1);
  static_cast<void>(co_await sleep_for(scheduler, 1));
  co_return below + 1;
}

Task<> nested_root(Scheduler& scheduler, int depth, int& result) {
  const Live live;
  result = co_await nested(scheduler, depth);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(task)

BOOST_AUTO_TEST_CASE(results_and_failures_reach_the_awaiter) {
  std::string out;
  Task<> task = collect(out);
  BOOST_TEST(task.start(ignore, nullptr));
  BOOST_TEST(out == "one 2 no");
  BOOST_TEST(!task.error());
}

BOOST_AUTO_TEST_CASE(an_exception_passes_through_and_ends_the_root) {
  Task<> task = outer_fails();
  BOOST_TEST(task.start(ignore, nullptr));
  BOOST_REQUIRE(task.error());
  BOOST_CHECK_THROW(std::rethrow_exception(task.error()), std::runtime_error);
}

BOOST_AUTO_TEST_CASE(nothing_runs_before_the_start) {
  bool ran = false;
  {
    const Task<> dropped = mark(ran);
  }
  BOOST_TEST(!ran);
  Task<> task = mark(ran);
  Task<> moved = std::move(task);
  BOOST_TEST(!ran);
  BOOST_TEST(moved.start(ignore, nullptr));
  BOOST_TEST(ran);
  BOOST_TEST(moved.done());
  BOOST_TEST(!task.done());
}

BOOST_AUTO_TEST_CASE(completion_is_called_once_when_it_ends_later) {
  SimScheduler scheduler(1);
  int result = -1;
  int num_completed = 0;
  Task<> task = nested_root(scheduler, 20, result);
  BOOST_TEST(!task.start(count, &num_completed));
  BOOST_TEST(num_completed == 0);
  BOOST_TEST(scheduler.run(10'000));
  BOOST_TEST(num_completed == 1);
  BOOST_TEST(result == 20);
}

BOOST_AUTO_TEST_CASE(a_million_synchronous_completions_use_constant_stack) {
  StackSpan span;
  std::int64_t sum = 0;
  Task<> task = many(span, 1'000'000, sum);
  BOOST_TEST(task.start(ignore, nullptr));
  BOOST_TEST(sum == 499'999'500'000);
  BOOST_TEST(span.high - span.low < 4'096u);
}

struct NestedWorld {
  explicit NestedWorld(SimScheduler& scheduler) : task(nested_root(scheduler, 6, result)) {
    task.start(ignore, nullptr);
  }
  int result = 0;
  Task<> task;
};

BOOST_AUTO_TEST_CASE(may_be_destroyed_at_every_suspension) {
  abandon_everywhere<NestedWorld>(3, false);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace tickertape::runtime::test
