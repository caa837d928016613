// A08: priority means something when slots are short: the urgent one starts at once, whoever gave
// way keeps its place among its equals, and waiting makes up for a low priority.
#include <boost/test/unit_test.hpp>
#include <iostream>

#include "tests/support/ticked_engine.hpp"

namespace {

using namespace tickertape;
using namespace tickertape::test;

constexpr std::int64_t kTickNs = 1'000'000;

Request request_of(std::uint32_t which, std::int32_t priority, std::uint32_t answer) {
  Request request = exact_request(which, 10, answer);
  request.priority = priority;
  return request;
}

/// Two slots, and memory enough for all.
EngineOptions two_slots(PreemptionMethod method) {
  EngineOptions options = tiny_options();
  options.num_kv_pages = 200;
  options.max_num_seqs = 2;
  options.scheduling = Scheduling::priority;
  options.preemption = method;
  options.swap_space = 1U << 20;
  return options;
}

void start_an_urgent_one(PreemptionMethod method) {
  TickedFake fake(two_slots(method), kTickNs);
  TickedEngine& engine = *fake.engine;
  const Request long_ones[] = {request_of(1, 10, 400), request_of(2, 10, 400)};
  const Request urgent = request_of(3, 0, 8);
  engine.submit(long_ones[0]);
  engine.submit(long_ones[1]);
  engine.submit_at(50, urgent);
  engine.run();
  const TickedAnswer& answer = engine.answer(2);
  BOOST_TEST(answer.by_choice[0].sampled_at.at(0) <= answer.submitted_at + 3);
  for (std::uint32_t i = 0; i < 2; ++i) {
    BOOST_TEST(fake.same_as_alone(i, long_ones[i]), "a08: request " << i);
  }
  BOOST_TEST(fake.same_as_alone(2, urgent));
  BOOST_TEST(engine.answer(0).by_choice[0].preempted_at.empty());
  BOOST_TEST(engine.answer(1).by_choice[0].preempted_at.size() == 1U);  // The younger one.
  const EngineStats stats = engine.stats();
  BOOST_TEST((method == PreemptionMethod::swap ? stats.swap_preemptions
                                               : stats.recompute_preemptions) == 1U);
}

BOOST_AUTO_TEST_CASE(a08_an_urgent_one_starts_within_three_ticks) {
  start_an_urgent_one(PreemptionMethod::recompute);
  start_an_urgent_one(PreemptionMethod::swap);
}

BOOST_AUTO_TEST_CASE(a08_who_gave_way_keeps_its_place_among_equals) {
  TickedFake fake(two_slots(PreemptionMethod::recompute), kTickNs);
  TickedEngine& engine = *fake.engine;
  for (std::uint32_t i = 0; i < 4; ++i) engine.submit(request_of(i, 10, i == 0 ? 60 : 40));
  engine.submit_at(20, request_of(4, 0, 8));
  for (std::uint32_t i = 5; i < 8; ++i) engine.submit_at(22, request_of(i, 10, 40));
  engine.run();
  const TickedChoice& victim = engine.answer(1).by_choice[0];
  BOOST_REQUIRE(victim.preempted_at.size() == 1U);
  BOOST_REQUIRE(victim.started_at.size() == 2U);
  std::uint64_t before = victim.started_at[1];
  BOOST_TEST(before <= engine.answer(4).by_choice[0].sampled_at.back() + 3);
  for (const std::size_t later : {2U, 3U, 5U, 6U, 7U}) {
    const std::uint64_t started = engine.answer(later).by_choice[0].started_at.at(0);
    BOOST_TEST(started >= before, "a08: " << later << " went before one that came earlier");
    before = started;
  }
}

/// Ticks from the arrival of a low one to its first and its last token, under urgent ones that keep
/// coming for 600 ticks.
struct Waited {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
};

constexpr std::uint64_t kFlowEnds = 600;
constexpr std::uint32_t kUrgentTokens = 10;
constexpr std::uint32_t kLowTokens = 30;

Waited wait_under_a_flow(double ageing_s) {
  EngineOptions options = two_slots(PreemptionMethod::recompute);
  options.priority_ageing_s = ageing_s;
  TickedFake fake(options, kTickNs);
  TickedEngine& engine = *fake.engine;
  std::uint32_t num_sent = 0;
  const auto send = [&] { engine.submit(request_of(num_sent++, 0, kUrgentTokens)); };
  for (int i = 0; i < 3; ++i) send();
  const Request low = request_of(1000, 5, kLowTokens);
  const std::size_t wanted = engine.submit_at(5, low);
  engine.on_end = [&](std::size_t which) {
    if (which != wanted && engine.tick() < kFlowEnds) send();
  };
  engine.run();
  BOOST_TEST(fake.same_as_alone(wanted, low));
  const TickedAnswer& answer = engine.answer(wanted);
  const std::vector<std::uint64_t>& sampled = answer.by_choice[0].sampled_at;
  return {sampled.front() - answer.submitted_at, sampled.back() - answer.submitted_at};
}

BOOST_AUTO_TEST_CASE(a08_waiting_makes_up_for_a_low_priority) {
  constexpr std::uint64_t kAgeing = 20;  // Ticks, and five classes between them.
  const Waited waited = wait_under_a_flow(kAgeing * kTickNs / 1e9);
  std::cout << "a08: first token after " << waited.first << " ticks, last after " << waited.last
            << '\n';
  // From then on it is the first of the line, and a slot falls free within an urgent answer.
  constexpr std::uint64_t kFirst = 5 * kAgeing + kUrgentTokens + 3;
  BOOST_TEST(waited.first <= kFirst);
  // Urgent ones may preempt it eight times, and each time it is the next to get a slot.
  BOOST_TEST(waited.last <= kFirst + kLowTokens + 8 * (kUrgentTokens + 3));
  // It is the ageing: else it starts when nothing urgent comes any more.
  BOOST_TEST(wait_under_a_flow(3600).first > kFlowEnds - 5);
}

}  // namespace
