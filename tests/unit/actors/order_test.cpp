// The orders of the waiting line, and the choice of who is preempted.
#include "actors/order.hpp"

#include <rapidcheck.h>
#include <boost/test/unit_test.hpp>
#include <vector>

#include <tickertape/errors.hpp>

#include "actors/preemption.hpp"

namespace {

using namespace tickertape;
using namespace tickertape::actors;

SequenceView view_of(std::uint64_t arrival, std::int32_t priority = 0) {
  SequenceView view;
  view.arrival = arrival;
  view.arrival_ns = static_cast<std::int64_t>(arrival) * 1000;
  view.priority = priority;
  view.deadline_ns = INT64_MAX;
  return view;
}

SequenceView parked(SequenceView view, std::int64_t since_ns) {
  view.parked = true;
  view.parked_since_ns = since_ns;
  return view;
}

BOOST_AUTO_TEST_SUITE(order)

BOOST_AUTO_TEST_CASE(fcfs_goes_by_arrival) {
  const auto policy = fcfs_order();
  BOOST_TEST(policy->rank(view_of(3, 9)) < policy->rank(view_of(4, -9)));
  BOOST_TEST(policy->preemption_class(view_of(3, 9)) == policy->preemption_class(view_of(4, -9)));
  BOOST_TEST(!policy->shares_by_client());
  BOOST_TEST(!policy->sheds_hopeless());
}

BOOST_AUTO_TEST_CASE(priority_ages) {
  const auto policy = priority_order(10'000);
  BOOST_TEST(policy->rank(view_of(9, 1)) < policy->rank(view_of(0, 2)));
  BOOST_TEST(policy->rank(view_of(0, 2)) < policy->rank(view_of(11, 1)));  // It waited longer.
  BOOST_TEST(policy->rank(view_of(5, -1)) < policy->rank(view_of(0, 0)));
  BOOST_TEST(policy->preemption_class(view_of(0, 2)) == 2);
  BOOST_TEST(!policy->shares_by_client());
}

BOOST_AUTO_TEST_CASE(priority_saturates) {
  const auto policy = priority_order(INT64_MAX);
  SequenceView late = view_of(0, INT32_MAX);
  late.arrival_ns = INT64_MAX;
  BOOST_TEST(policy->rank(late) == INT64_MAX);
  BOOST_TEST(policy->rank(view_of(0, INT32_MIN)) == INT64_MIN);
  BOOST_TEST(policy->rank(view_of(7, 0)) == 7000);
  for (const std::int64_t ageing : {std::int64_t{0}, INT64_MIN}) {
    BOOST_CHECK_EXCEPTION(
        static_cast<void>(priority_order(ageing)), Error, [&](const Error& error) {
          return std::string(error.what()).find(std::to_string(ageing)) != std::string::npos;
        });
  }
}

BOOST_AUTO_TEST_CASE(deadline_takes_the_earliest_and_sheds) {
  const auto policy = deadline_order();
  SequenceView early = view_of(9);
  early.deadline_ns = 5;
  BOOST_TEST(policy->rank(early) < policy->rank(view_of(0)));
  BOOST_TEST(policy->sheds_hopeless());
  BOOST_TEST(policy->preemption_class(early) == policy->preemption_class(view_of(0)));
}

BOOST_AUTO_TEST_CASE(fair_shares_by_client) {
  const auto policy = fair_order();
  BOOST_TEST(policy->shares_by_client());
  BOOST_TEST(policy->rank(view_of(3)) < policy->rank(view_of(4)));
  BOOST_TEST(!policy->sheds_hopeless());
}

BOOST_AUTO_TEST_SUITE_END()

constexpr std::int64_t kGraceNs = 100;
constexpr std::int64_t kNowNs = 1000;

/// Whether `a` gives way before `b`, rule by rule.
bool gives_way_before(const SequenceView& a, const SequenceView& b) {
  const auto beyond = [](const SequenceView& view) {
    return view.parked && view.parked_since_ns + kGraceNs <= kNowNs;
  };
  if (beyond(a) != beyond(b)) return beyond(a);
  if (a.priority != b.priority) return a.priority > b.priority;
  if (a.parked != b.parked) return a.parked;
  return a.arrival > b.arrival;
}

BOOST_AUTO_TEST_SUITE(preemption)

BOOST_AUTO_TEST_CASE(rules_one_by_one) {
  const auto policy = youngest_first_preemption(priority_order(1));
  const auto choose = [&](const std::vector<SequenceView>& running, std::size_t oldest) {
    return policy->choose(running, 0, oldest, kGraceNs, kNowNs);
  };
  BOOST_TEST(choose({view_of(0), view_of(1), view_of(2)}, 0).value() == 2U);
  BOOST_TEST(choose({view_of(0), view_of(1, 1), view_of(2)}, 0).value() == 1U);
  BOOST_TEST(choose({view_of(0), parked(view_of(1), 950), view_of(2)}, 0).value() == 1U);
  BOOST_TEST(choose({view_of(0), parked(view_of(1), 950), view_of(2, 1)}, 0).value() == 2U);
  BOOST_TEST(choose({view_of(0), parked(view_of(1), 900), view_of(2, 1)}, 0).value() == 1U);
  // The oldest runnable one stays, also when it is the only one.
  BOOST_TEST(choose({view_of(0, 9), view_of(1)}, 0).value() == 1U);
  BOOST_TEST(!choose({view_of(0, 9)}, 0));
  BOOST_TEST(!choose({}, 0));
  BOOST_TEST(choose({parked(view_of(0), 0)}, 1).value() == 0U);  // Nobody is runnable.
}

BOOST_AUTO_TEST_CASE(without_classes_priority_is_nothing) {
  const auto policy = youngest_first_preemption(fcfs_order());
  const std::vector<SequenceView> running{view_of(0), view_of(1, 5), view_of(2, -5)};
  BOOST_TEST(policy->choose(running, 0, 0, kGraceNs, kNowNs).value() == 2U);
}

BOOST_AUTO_TEST_CASE(nobody_gives_way_before_the_one_chosen) {
  BOOST_TEST(rc::check("the victim is the first by the rules", [] {
    std::vector<SequenceView> running;
    const auto count = *rc::gen::inRange<std::size_t>(1, 12);
    for (std::size_t i = 0; i < count; ++i) {
      SequenceView view = view_of(i, *rc::gen::inRange(-2, 3));
      if (*rc::gen::inRange(0, 3) == 0) view = parked(view, *rc::gen::inRange(850, 1000));
      running.push_back(view);
    }
    const auto oldest = *rc::gen::inRange<std::size_t>(0, count + 1);
    const auto victim =
        youngest_first_preemption(priority_order(1))->choose(running, 0, oldest, kGraceNs, kNowNs);
    RC_ASSERT(victim.has_value() == (count > 1 || oldest == count));
    if (!victim) return;
    RC_ASSERT(*victim != oldest);
    for (std::size_t i = 0; i < count; ++i) {
      if (i != oldest && i != *victim) RC_ASSERT(gives_way_before(running[*victim], running[i]));
    }
  }));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
