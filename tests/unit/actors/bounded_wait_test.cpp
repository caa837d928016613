// Bounded wait: for each order, how long one request waits under a flood that never ends, by what
// the order promises; and that without the promise it would wait for as long as the flood lasts.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <functional>
#include <memory>

#include "actors/order.hpp"
#include "tests/unit/actors/planning.hpp"

namespace {

using namespace tickertape;
using namespace tickertape::actors;
using namespace tickertape::test;

constexpr std::int64_t kTickNs = 1'000'000;
constexpr std::uint64_t kSlots = 2;
constexpr std::uint64_t kService = 10;  ///< Ticks that each request holds a slot.
constexpr SequenceId kWanted = 1'000'000;
constexpr std::uint64_t kFloodEnds = 3000;

PlannerOptions options_of(std::shared_ptr<const OrderPolicy> order) {
  PlannerOptions options = small_options();
  options.max_num_seqs = kSlots;
  options.order = std::move(order);
  return options;
}

struct Flood {
  std::uint64_t at_once = 0;  ///< At the beginning,
  std::uint64_t every = 0;    ///< and then one each so many ticks.
  std::function<void(NewRequest&, std::int64_t now_ns)> shape;
};

struct Waited {
  std::uint64_t ahead = 0;  ///< Others that waited when it came.
  std::uint64_t first = 0;  ///< Ticks from then to its first row,
  std::uint64_t last = 0;   ///< and to its last.
};

/// One request that comes at `comes_at` into the flood.
Waited wait(const PlannerOptions& options, const Flood& flood, std::uint64_t comes_at,
            NewRequest wanted) {
  Planner planner(options);
  Waited waited;
  SequenceId next = 1;
  const auto add = [&](std::int64_t now_ns) {
    NewRequest one = sequence(next++, 10, kService);
    flood.shape(one, now_ns);
    planner.add(one, now_ns);
  };
  for (std::uint64_t i = 0; i < flood.at_once; ++i) add(0);
  bool is_over = false;
  for (std::uint64_t now = 0; !is_over && now < 2 * kFloodEnds; ++now) {
    const auto now_ns = static_cast<std::int64_t>(now) * kTickNs;
    if (now < kFloodEnds && now % flood.every == 0) add(now_ns);
    if (now == comes_at) {
      waited.ahead = planner.num_waiting();
      if (wanted.deadline_ns != kNoDeadline) wanted.deadline_ns += now_ns;
      planner.add(wanted, now_ns);
    }
    const Plan plan = tick(planner, now_ns);
    if (row_of(plan, kWanted) == nullptr) continue;
    if (waited.last == 0) waited.first = now - comes_at;
    waited.last = now - comes_at;
    is_over = planner.find(kWanted) == nullptr;
  }
  BOOST_TEST(is_over);
  return waited;
}

NewRequest wanted_one() {
  return sequence(kWanted, 10, kService);
}

/// Ticks until so many requests have had a slot.
std::uint64_t served(std::uint64_t count) {
  return (count + kSlots - 1) / kSlots * kService;
}

/// Every kind of place in the flood's rhythm.
template <class Judge>
void at_many_times(Judge judge) {
  for (std::uint64_t comes_at = 100; comes_at < 140; ++comes_at) judge(comes_at);
}

BOOST_AUTO_TEST_SUITE(bounded_wait)

/// The order that users of `fcfs` are spared: small prompts first.
class SmallestFirst final : public OrderPolicy {
 public:
  std::int64_t rank(const SequenceView& sequence) const override { return sequence.prompt_tokens; }
};

BOOST_AUTO_TEST_CASE(fcfs_waits_for_those_who_were_there) {
  const Flood flood{4, 3, [](NewRequest&, std::int64_t) {}};  // More than two slots serve.
  NewRequest wanted = wanted_one();
  wanted.prompt_tokens += 30;
  wanted.max_tokens += 30;
  at_many_times([&](std::uint64_t comes_at) {
    const Waited waited = wait(options_of(fcfs_order()), flood, comes_at, wanted);
    // Those ahead, and those that had a slot.
    BOOST_TEST(waited.first <= served(waited.ahead + kSlots));
  });
  const auto smallest = std::make_shared<SmallestFirst>();
  BOOST_TEST(wait(options_of(smallest), flood, 100, wanted).first > kFloodEnds - 100);
}

BOOST_AUTO_TEST_CASE(priority_waits_for_its_ageing) {
  constexpr std::uint64_t kAgeing = 20;
  constexpr std::int32_t kClasses = 3;                        // Between the flood and it.
  const Flood flood{4, 5, [](NewRequest&, std::int64_t) {}};  // As much as two slots serve.
  constexpr std::uint32_t kLong = 60;  // So that it could be preempted again and again.
  NewRequest wanted = sequence(kWanted, 10, kLong);
  wanted.priority = kClasses;
  PlannerOptions options = options_of(priority_order(kAgeing * kTickNs));
  at_many_times([&](std::uint64_t comes_at) {
    const Waited waited = wait(options, flood, comes_at, wanted);
    // Whoever comes later than so many ticks after it comes behind it.
    const std::uint64_t before_it = waited.ahead + kClasses * kAgeing / flood.every + 1;
    const std::uint64_t first = served(before_it + kSlots);
    BOOST_TEST(waited.first <= first);
    // A higher class may take its place so many times, and each time it is the next to have one.
    BOOST_TEST(waited.last <= first + kLong + options.max_class_preemptions * (kService + 1));
  });
  options.order = priority_order(INT64_MAX);
  BOOST_TEST(wait(options, flood, 100, wanted).first > kFloodEnds - 100);
}

BOOST_AUTO_TEST_CASE(deadline_waits_for_those_that_are_due_before) {
  constexpr std::int64_t kFlood = 100;
  constexpr std::int64_t kLate = 400;
  const Flood flood{4, 5, [](NewRequest& one, std::int64_t now_ns) {
                      one.deadline_ns = now_ns + kFlood * kTickNs;
                    }};
  NewRequest wanted = wanted_one();
  wanted.deadline_ns = kLate * kTickNs;
  at_many_times([&](std::uint64_t comes_at) {
    const Waited waited = wait(options_of(deadline_order()), flood, comes_at, wanted);
    // From then on whoever comes is due after it.
    BOOST_TEST(waited.first <= kLate - kFlood + served(waited.ahead + 1 + kSlots));
  });
  // That is why every request has a deadline, at least that of the request timeout.
  wanted.deadline_ns = kNoDeadline;
  BOOST_TEST(wait(options_of(deadline_order()), flood, 100, wanted).first > kFloodEnds - 100);
}

BOOST_AUTO_TEST_CASE(fair_waits_for_one_turn_of_each_client) {
  constexpr std::uint64_t kClients = 5;
  std::uint64_t turn = 0;
  const Flood flood{40, 1,
                    [&](NewRequest& one, std::int64_t) { one.client = 1 + turn++ % kClients; }};
  NewRequest wanted = wanted_one();
  wanted.client = 77;
  std::uint64_t most_ahead = 0;
  at_many_times([&](std::uint64_t comes_at) {
    const Waited waited = wait(options_of(fair_order()), flood, comes_at, wanted);
    most_ahead = std::max(most_ahead, waited.ahead);
    BOOST_TEST(waited.first <= served(kClients + kSlots));
  });
  BOOST_TEST(most_ahead > 100U);
  const Waited waited = wait(options_of(fcfs_order()), flood, 100, wanted);
  BOOST_TEST(waited.first >= served(waited.ahead) - kService);  // Behind them all.
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
