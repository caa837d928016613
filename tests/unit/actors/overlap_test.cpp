// Plans that are made while another one is under way.
#include <boost/test/unit_test.hpp>
#include <deque>
#include <map>

#include "actors/planner.hpp"
#include "tests/unit/actors/planning.hpp"

namespace tickertape {
namespace {

using namespace actors;
using test::row_of;
using test::run;
using test::sequence;

PlannerOptions ahead_options(std::uint32_t num_pages) {
  PlannerOptions options;
  options.pool = KvPoolOptions{num_pages, 4};
  options.max_num_seqs = 2;
  options.max_num_batched_tokens = 16;
  options.prefix_caching = false;
  options.overlap = true;
  return options;
}

BOOST_AUTO_TEST_CASE(a_plan_ahead_goes_on_from_the_token_that_is_not_known_yet) {
  Planner planner(ahead_options(8));
  planner.add(sequence(1, 20, 3), 0);
  const Plan first = planner.make_plan(0);
  BOOST_TEST(row_of(first, 1)->num_tokens == 16U);
  const Plan second = planner.make_plan(0);  // The rest of the prompt, whose tokens are known.
  planner.check();
  BOOST_TEST(row_of(second, 1)->first_position == 16U);
  BOOST_TEST((row_of(second, 1)->source == RowSource::ids));
  planner.commit(run(planner, first));
  const Plan third = planner.make_plan(0);
  planner.check();
  BOOST_TEST(row_of(third, 1)->first_position == 20U);
  BOOST_TEST(row_of(third, 1)->num_tokens == 1U);
  BOOST_TEST((row_of(third, 1)->source == RowSource::last_token_of));
  planner.commit(run(planner, second));
  const Plan fourth = planner.make_plan(0);
  BOOST_TEST(row_of(fourth, 1)->first_position == 21U);
  planner.commit(run(planner, third));
  BOOST_TEST(planner.make_plan(0).rows.empty());  // The last token is under way.
  planner.commit(run(planner, fourth));
  planner.check();
  BOOST_TEST(planner.find(1) == nullptr);
  BOOST_TEST(planner.counters().dropped_row_tokens == 0U);
  BOOST_TEST(planner.counters().overlapped_ticks == 3U);
}

BOOST_AUTO_TEST_CASE(an_end_drops_the_row_ahead_and_frees_the_slot_at_once) {
  Planner planner(ahead_options(8));
  planner.add(sequence(1, 4, 10), 0);
  planner.add(sequence(2, 4, 10), 0);
  planner.add(sequence(3, 4, 10), 0);
  const Plan first = planner.make_plan(0);
  const Plan second = planner.make_plan(0);
  BOOST_TEST(second.opened.empty());  // Both slots are taken.
  Demand demand = run(planner, first);
  demand.done.at(0).ended = demand.done.at(0).by_itself = true;
  planner.commit(demand);
  planner.check();
  BOOST_TEST(planner.counters().dropped_row_tokens == 1U);
  const Plan third = planner.make_plan(0);  // While the second one still runs.
  planner.check();
  BOOST_TEST(third.opened.at(0).id == 3U);
  BOOST_TEST(third.opened.at(0).slot == row_of(second, 1)->slot);
  BOOST_TEST(third.closed.at(0) == row_of(second, 1)->slot);
}

BOOST_AUTO_TEST_CASE(nothing_is_taken_from_anybody_before_all_is_done) {
  Planner planner(ahead_options(3));
  planner.add(sequence(1, 4, 8), 0);
  planner.add(sequence(2, 4, 8), 0);
  Plan under_way = planner.make_plan(0);
  BOOST_TEST(under_way.opened.size() == 2U);
  const Plan ahead = planner.make_plan(0);  // One page is left for the two of them.
  planner.check();
  BOOST_TEST(ahead.rows.size() == 1U);
  BOOST_TEST(ahead.preempted.empty());
  planner.commit(run(planner, under_way));
  const Plan waits = planner.make_plan(0);
  BOOST_TEST(waits.empty());
  planner.commit(run(planner, ahead));
  const Plan after = planner.make_plan(0);
  planner.check();
  BOOST_TEST(after.preempted.at(0).id == 2U);
  BOOST_TEST((after.idle_cause == IdleCause::room));
}

BOOST_AUTO_TEST_CASE(who_needs_the_host_sits_out_and_the_others_go_ahead) {
  Planner planner(ahead_options(8));
  NewRequest processed = sequence(1, 4, 8);
  processed.needs_host = true;
  planner.add(processed, 0);
  const Plan first = planner.make_plan(0);
  BOOST_TEST(planner.make_plan(0).empty());
  planner.commit(run(planner, first));
  planner.add(sequence(2, 4, 8), 0);
  const Plan second = planner.make_plan(0);
  BOOST_TEST((second.idle_cause == IdleCause::host_state));
  BOOST_TEST(second.rows.size() == 2U);
  const Plan ahead = planner.make_plan(0);
  planner.check();
  BOOST_TEST(ahead.rows.size() == 1U);
  BOOST_TEST(row_of(ahead, 2) != nullptr);
}

BOOST_AUTO_TEST_CASE(an_end_from_outside_is_told_when_its_rows_are_done) {
  Planner planner(ahead_options(8));
  planner.add(sequence(1, 4, 8), 0);
  const Plan first = planner.make_plan(0);
  const Plan second = planner.make_plan(0);
  planner.apply(ReaderEvent{1, 1000, true, {}});
  planner.commit(run(planner, first));
  BOOST_TEST(planner.make_plan(0).empty());
  BOOST_TEST(planner.pool().num_held() > 0U);
  planner.commit(run(planner, second));
  BOOST_TEST(planner.pool().num_held() == 0U);
  BOOST_TEST((planner.make_plan(0).ended.at(0).reason == FinishReason::cancelled));
}

BOOST_AUTO_TEST_CASE(a_slot_that_falls_free_idles_for_one_tick_at_most) {
  for (const bool is_foreseen : {true, false}) {
    PlannerOptions options = ahead_options(400);
    options.max_num_seqs = 3;
    Planner planner(options);
    constexpr std::uint32_t kOutputs[] = {6, 50, 300};
    for (SequenceId id = 1; id <= 90; ++id) {
      // Ends by its length, or at a token of which the planner knows nothing.
      planner.add(sequence(id, 4, is_foreseen ? kOutputs[id % 3] : 1000, 1'000'000), 0);
    }
    std::deque<Plan> under_way;
    std::uint64_t num_idle = 0;
    std::uint64_t num_ends = 0;
    std::map<SequenceId, std::uint32_t> generated;
    for (;;) {
      const std::size_t line = planner.num_waiting();
      Plan plan = planner.make_plan(0);
      planner.check();
      if (line > plan.opened.size()) num_idle += 3 - plan.rows.size();
      if (plan.has_work()) under_way.push_back(std::move(plan));
      if (under_way.empty()) break;
      if (under_way.size() < kMaxPlansUnderWay && plan.has_work()) continue;
      Demand demand = run(planner, under_way.front());
      for (RowDone& done : demand.done) {
        const bool is_all = ++generated[done.id] == kOutputs[done.id % 3];
        if (!is_foreseen) done.ended = done.by_itself = is_all;
        num_ends += done.ended ? 1 : 0;
      }
      planner.commit(demand);
      planner.check();
      under_way.pop_front();
    }
    BOOST_TEST(num_ends == 90U);
    if (is_foreseen) BOOST_TEST(num_idle <= 90U);
    if (!is_foreseen) BOOST_TEST(num_idle == 0U);  // The row ahead is computed for nothing.
    BOOST_TEST(planner.counters().dropped_row_tokens <= (is_foreseen ? 0U : 90U));
  }
}

}  // namespace
}  // namespace tickertape
