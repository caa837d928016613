// make_plan: each scheduling rule by itself.
#include <boost/test/unit_test.hpp>
#include <vector>

#include "actors/order.hpp"
#include "tests/unit/actors/planning.hpp"

namespace {

using namespace tickertape;
using namespace tickertape::actors;
using namespace tickertape::test;

BOOST_AUTO_TEST_CASE(nothing_to_do_is_an_empty_plan) {
  Planner planner(small_options());
  BOOST_TEST(planner.make_plan(0).empty());
  BOOST_TEST(planner.make_plan(0).wake_at_ns == kNoDeadline);
}

BOOST_AUTO_TEST_CASE(a_long_prompt_is_read_in_chunks_beside_running_decodes) {
  Planner planner(small_options());
  planner.add(sequence(1, 10, 50), 0);
  tick(planner);
  planner.add(sequence(2, 150, 5), 0);
  const Plan plan = tick(planner);
  // The decode comes first, the prompt takes what is left of the budget.
  BOOST_TEST(plan.rows.at(0).id == 1U);
  BOOST_TEST(row_of(plan, 2)->num_tokens == 63U);
  BOOST_TEST((row_of(plan, 2)->output == RowOutput::none));
  BOOST_TEST(row_of(tick(planner), 2)->num_tokens == 63U);
  const Plan last = tick(planner);
  BOOST_TEST(row_of(last, 2)->num_tokens == 24U);
  BOOST_TEST((row_of(last, 2)->output == RowOutput::sample));
  BOOST_TEST(row_of(last, 1) != nullptr);
}

/// 200 tokens of a lower class, and 100 of a higher one that come when 64 of them are read.
Plan read_beside_a_long_prompt(Planner& planner, std::uint32_t num_ticks) {
  NewRequest low = sequence(1, 200, 5);
  low.priority = 1;
  planner.add(low, 0);
  tick(planner);
  planner.add(sequence(2, 100, 5), 0);
  Plan plan;
  for (std::uint32_t i = 0; i < num_ticks; ++i) plan = tick(planner);
  return plan;
}

BOOST_AUTO_TEST_CASE(prompts_are_read_in_the_order_of_the_line) {
  PlannerOptions options = small_options();
  options.order = priority_order(1'000'000'000);
  {
    // Who comes first in the line and has room does not wait for a prompt under way,
    Planner planner(options);
    const Plan first = read_beside_a_long_prompt(planner, 1);
    BOOST_TEST(first.preempted.empty());
    BOOST_TEST(row_of(first, 2)->num_tokens == 64U);
    BOOST_TEST(row_of(first, 1) == nullptr);
  }
  {
    // nor beside it.
    Planner planner(options);
    const Plan second = read_beside_a_long_prompt(planner, 2);
    BOOST_TEST(row_of(second, 2)->num_tokens == 36U);
    BOOST_TEST((row_of(second, 2)->output == RowOutput::sample));
    BOOST_TEST(row_of(second, 1)->num_tokens == 28U);
  }
  {
    // One that has waited long enough goes on before it.
    options.order = priority_order(1);
    Planner planner(options);
    NewRequest low = sequence(1, 200, 5);
    low.priority = 1;
    planner.add(low, 0);
    tick(planner);
    planner.add(sequence(2, 100, 5), 10);
    BOOST_TEST(row_of(tick(planner), 1)->num_tokens == 64U);
  }
}

BOOST_AUTO_TEST_CASE(a_chunk_limit_caps_one_requests_share) {
  PlannerOptions options = small_options();
  options.prefill_chunk = 16;
  Planner planner(options);
  planner.add(sequence(1, 40, 5), 0);
  planner.add(sequence(2, 40, 5), 0);
  const Plan plan = tick(planner);
  BOOST_TEST(row_of(plan, 1)->num_tokens == 16U);
  BOOST_TEST(row_of(plan, 2)->num_tokens == 16U);
}

BOOST_AUTO_TEST_CASE(admission_is_first_come_first_served_and_takes_whole_prompts) {
  Planner planner(small_options());
  planner.add(sequence(1, 200, 8), 0);  // 13 pages
  planner.add(sequence(2, 200, 8), 0);  // does not fit beside it
  planner.add(sequence(3, 10, 8), 0);   // would fit, but came later
  const Plan plan = tick(planner);
  BOOST_TEST(plan.opened.size() == 1U);
  BOOST_TEST(planner.num_waiting() == 2U);
  BOOST_TEST(planner.find(1)->view.pages == 13U);
}

BOOST_AUTO_TEST_CASE(the_youngest_gives_way_and_comes_back_first) {
  PlannerOptions options = small_options();
  options.pool.num_pages = 4;
  Planner planner(options);
  planner.add(sequence(1, 30, 30), 0);
  planner.add(sequence(2, 30, 30), 0);
  planner.add(sequence(3, 16, 8), 0);
  std::vector<SequenceId> preempted;
  std::vector<SequenceId> resumed;
  for (int i = 0; i < 200 && planner.num_running() + planner.num_waiting() > 0; ++i) {
    const Plan plan = tick(planner);
    for (const auto& victim : plan.preempted) preempted.push_back(victim.id);
    for (const auto& opened : plan.opened) {
      if (opened.resumed) resumed.push_back(opened.id);
    }
    if (!plan.preempted.empty()) BOOST_TEST(plan.opened.empty());
  }
  BOOST_TEST(planner.num_running() + planner.num_waiting() == 0U);
  // 2 gives way to 1 and comes back before 3, which then gives way to 2.
  const std::vector<SequenceId> expected{2, 3};
  BOOST_TEST(preempted == expected, boost::test_tools::per_element());
  BOOST_TEST(resumed == expected, boost::test_tools::per_element());
  BOOST_TEST(planner.pool().num_free() == 4U);
}

BOOST_AUTO_TEST_CASE(out_of_credit_is_parked_and_costs_nobody_else) {
  Planner planner(small_options());
  planner.add(sequence(1, 10, 50, 2), 0);
  planner.add(sequence(2, 10, 50), 0);
  tick(planner);
  tick(planner);
  const Plan parked = tick(planner, 10);
  BOOST_TEST(row_of(parked, 1) == nullptr);
  BOOST_TEST(row_of(parked, 2) != nullptr);
  planner.apply(ReaderEvent{1, 3, false, {}});
  const Plan plan = tick(planner, 20);
  BOOST_TEST(row_of(plan, 1) != nullptr);
  BOOST_TEST(row_of(tick(planner, 30), 1) == nullptr);
}

BOOST_AUTO_TEST_CASE(a_stalled_reader_is_ended_after_its_timeout) {
  Planner planner(small_options());
  planner.add(sequence(1, 10, 50, 1), 0);
  tick(planner, 0);
  const Plan parked = tick(planner, 5);
  BOOST_TEST(parked.empty());
  BOOST_TEST(parked.wake_at_ns == 5 + 1000);
  const Plan plan = tick(planner, 1005);
  BOOST_REQUIRE(plan.ended.size() == 1U);
  BOOST_TEST((plan.ended[0].reason == FinishReason::stalled));
  BOOST_TEST(planner.pool().num_held() == 0U);
}

BOOST_AUTO_TEST_CASE(parked_pages_are_taken_after_the_grace_when_others_need_them) {
  Planner planner(small_options());
  planner.add(sequence(1, 300, 20, 1), 0);  // 19 of 24 pages
  for (int i = 0; i < 5; ++i) tick(planner, 0);
  planner.add(sequence(2, 200, 5), 0);  // needs 13
  const Plan early = tick(planner, 50);
  BOOST_TEST(early.empty());
  BOOST_TEST(early.wake_at_ns == 150);  // Parked at 50.
  const Plan late = tick(planner, 150);
  BOOST_REQUIRE(late.preempted.size() == 1U);
  BOOST_TEST(late.preempted[0].id == 1U);
  BOOST_TEST(late.opened.at(0).id == 2U);
  // It comes back once its reader gives credit and there is room.
  planner.apply(ReaderEvent{1, 2, false, {}});
  for (int i = 0; i < 40 && planner.num_running() < 1; ++i) tick(planner, 200);
  for (int i = 0; i < 40; ++i) tick(planner, 200);
  BOOST_TEST(planner.find_request(1)->emitted == 2U);
}

BOOST_AUTO_TEST_CASE(deadlines_end_waiting_and_running_sequences) {
  PlannerOptions options = small_options();
  options.max_num_seqs = 1;
  Planner planner(options);
  NewRequest first = sequence(1, 10, 50);
  first.deadline_ns = 500;
  planner.add(first, 0);
  NewRequest second = sequence(2, 10, 50);
  second.deadline_ns = 300;
  planner.add(second, 0);
  BOOST_TEST(tick(planner, 0).wake_at_ns == 300);
  const Plan at_300 = tick(planner, 300);
  BOOST_TEST(at_300.ended.at(0).id == 2U);
  const Plan at_500 = tick(planner, 500);
  BOOST_TEST((at_500.ended.at(0).reason == FinishReason::deadline));
  BOOST_TEST(planner.pool().num_held() == 0U);
}

BOOST_AUTO_TEST_CASE(pages_of_a_pass_under_way_are_fenced) {
  Planner planner(small_options());
  planner.add(sequence(1, 10, 50), 0);
  const Plan plan = planner.make_plan(0);
  planner.apply(ReaderEvent{1, 1000, true, {}});
  BOOST_TEST(planner.pool().num_held() == 1U);
  BOOST_TEST(planner.make_plan(0).ended.empty());  // The pass may yet end it by itself.
  BOOST_TEST(planner.pool().num_held() == 1U);
  planner.commit(run(planner, plan));
  BOOST_TEST(planner.pool().num_held() == 0U);
  BOOST_TEST((planner.make_plan(0).ended.at(0).reason == FinishReason::cancelled));
  planner.check();
}

BOOST_AUTO_TEST_CASE(cancelling_twice_or_after_the_end_changes_nothing) {
  Planner planner(small_options());
  planner.add(sequence(1, 10, 50), 0);
  planner.apply(ReaderEvent{1, 1000, true, {}});
  planner.apply(ReaderEvent{1, 1000, true, {}});
  planner.apply(ReaderEvent{77, 1000, true, {}});
  BOOST_TEST(tick(planner).ended.size() == 1U);
  planner.apply(ReaderEvent{1, 1000, true, {}});
  BOOST_TEST(tick(planner).empty());
}

BOOST_AUTO_TEST_CASE(the_last_one_that_outgrows_the_pool_ends_alone) {
  // max_tokens beyond the pool: submit would clip it, the planner must survive it.
  PlannerOptions options = small_options();
  options.pool.num_pages = 2;
  Planner planner(options);
  planner.add(sequence(1, 20, 100), 0);
  FinishReason reason = FinishReason::none;
  for (int i = 0; i < 50 && reason == FinishReason::none; ++i) {
    const Plan plan = tick(planner);
    if (!plan.ended.empty()) reason = plan.ended[0].reason;
  }
  BOOST_TEST((reason == FinishReason::length));
  planner.add(sequence(2, 40, 10), 0);  // A prompt beyond the pool.
  BOOST_TEST((tick(planner).ended.at(0).reason == FinishReason::error));
  BOOST_TEST(planner.pool().num_free() == 2U);
}

}  // namespace
