// Choices: how make_plan treats the sequences of one request.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <map>
#include <vector>

#include "tests/unit/actors/planning.hpp"

namespace {

using namespace tickertape;
using namespace tickertape::actors;
using namespace tickertape::test;

NewRequest choices(SequenceId id, std::uint32_t num_choices, std::uint32_t prompt,
                   std::uint32_t generate, std::uint64_t granted = 1000) {
  NewRequest wanted = sequence(id, prompt, generate, granted);
  wanted.num_choices = num_choices;
  return wanted;
}

BOOST_AUTO_TEST_CASE(the_prompt_is_computed_once_and_its_full_pages_are_shared) {
  Planner planner(small_options());
  planner.add(choices(10, 4, 40, 8), 0);
  const Plan first = tick(planner);
  BOOST_TEST(first.opened.size() == 1U);
  BOOST_TEST(row_of(first, 10)->num_tokens == 40U);
  const Plan second = tick(planner);
  BOOST_REQUIRE(second.opened.size() == 3U);
  for (const SequenceId id : {11U, 12U, 13U}) {
    BOOST_REQUIRE(row_of(second, id) != nullptr);
    BOOST_TEST(row_of(second, id)->first_position == 39U);
    BOOST_TEST(row_of(second, id)->num_tokens == 1U);
    BOOST_TEST((row_of(second, id)->output == RowOutput::sample));
  }
  // 39 tokens: two full pages shared, the third one copied for each.
  BOOST_TEST(second.copies.size() == 3U);
  BOOST_TEST(planner.pool().num_held() == 2U + 4U);
  EngineStats stats;
  planner.fill(stats);
  // Two full pages, counted once; then 8 tokens of the prompt and what was generated.
  BOOST_TEST(stats.held_tokens == 32U + (8U + 1U) + 3U * 8U);
}

BOOST_AUTO_TEST_CASE(a_prompt_that_ends_with_a_page_needs_no_copy) {
  Planner planner(small_options());
  planner.add(choices(1, 2, 33, 4), 0);
  tick(planner);
  const Plan second = tick(planner);
  BOOST_TEST(second.copies.empty());
  BOOST_TEST(row_of(second, 2)->first_position == 32U);
  BOOST_TEST(planner.pool().num_held() == 2U + 2U);
}

BOOST_AUTO_TEST_CASE(a_prompt_of_one_token_has_nothing_to_share) {
  Planner planner(small_options());
  planner.add(choices(1, 3, 1, 4), 0);
  BOOST_TEST(tick(planner).opened.size() == 3U);
}

BOOST_AUTO_TEST_CASE(others_are_admitted_while_the_choices_wait_for_their_prompt) {
  Planner planner(small_options());
  planner.add(choices(1, 2, 200, 4), 0);
  planner.add(sequence(5, 10, 4), 0);
  const Plan first = tick(planner);
  BOOST_TEST(first.rows.size() == 1U);  // The budget of 64 went to the prompt.
  for (int i = 0; i < 3; ++i) tick(planner);
  BOOST_TEST(planner.find(5)->running);
  BOOST_TEST(!planner.find(2)->running);
  tick(planner);
  BOOST_TEST(planner.find(2)->running);
}

BOOST_AUTO_TEST_CASE(the_choices_share_the_window_and_keep_level) {
  Planner planner(small_options());
  planner.add(choices(1, 3, 10, 50, 4), 0);
  std::map<SequenceId, int> sampled;
  const auto count = [&](const Plan& plan) {
    for (const PlanRow& row : plan.rows) ++sampled[row.id];
  };
  count(tick(planner));  // 1 samples: 3 of the window are left.
  count(tick(planner));  // All three: the window is used up.
  BOOST_TEST(sampled[1] == 2);
  BOOST_TEST(sampled[2] == 1);
  BOOST_TEST(sampled[3] == 1);
  BOOST_TEST(tick(planner).rows.empty());
  BOOST_TEST(planner.find(3)->view.parked);
  for (std::uint64_t granted = 5; granted <= 10; ++granted) {
    planner.apply(ReaderEvent{1, granted, false, {}});
    const Plan plan = tick(planner);
    BOOST_REQUIRE(plan.rows.size() == 1U);
    count(plan);
  }
  // Ten tokens in all: the one with the fewest went first.
  BOOST_TEST(sampled[1] == 4);
  BOOST_TEST(sampled[2] == 3);
  BOOST_TEST(sampled[3] == 3);
}

BOOST_AUTO_TEST_CASE(a_stop_string_ends_its_choice_alone_and_a_cancel_all) {
  Planner planner(small_options());
  planner.add(choices(1, 3, 20, 50), 0);
  tick(planner);
  tick(planner);
  planner.apply(ReaderEvent{1, 1000, false, {1}});
  const Plan plan = tick(planner);
  BOOST_REQUIRE(plan.ended.size() == 1U);
  BOOST_TEST(plan.ended[0].id == 2U);
  BOOST_TEST((plan.ended[0].reason == FinishReason::stop));
  BOOST_TEST(planner.find(2) == nullptr);
  BOOST_TEST(row_of(plan, 1) != nullptr);
  planner.apply(ReaderEvent{1, 1000, true, {}});
  BOOST_TEST(tick(planner).ended.size() == 2U);
  BOOST_TEST(planner.find_request(1) == nullptr);
  BOOST_TEST(planner.pool().num_free() == 24U);
}

BOOST_AUTO_TEST_CASE(a_preempted_choice_finds_its_prompt_with_a_sibling_again) {
  PlannerOptions options = small_options();
  options.pool.num_pages = 7;
  Planner planner(options);
  planner.add(choices(1, 3, 33, 40), 0);  // Two pages shared, and one to three for each.
  Plan plan;
  for (int i = 0; i < 40 && plan.preempted.empty(); ++i) plan = tick(planner);
  BOOST_REQUIRE(plan.preempted.size() == 1U);
  BOOST_TEST(plan.preempted[0].id == 3U);
  planner.apply(ReaderEvent{1, 1000, false, {1}});  // The second one makes room.
  plan = tick(planner);
  BOOST_REQUIRE(plan.opened.size() == 1U);
  BOOST_TEST(plan.opened[0].resumed);
  BOOST_TEST(row_of(plan, 3)->first_position == 32U);
  for (int i = 0; i < 100 && planner.num_running() + planner.num_waiting() > 0; ++i) tick(planner);
  BOOST_TEST(planner.num_running() + planner.num_waiting() == 0U);
  BOOST_TEST(planner.pool().num_free() == 7U);
}

BOOST_AUTO_TEST_CASE(the_prompts_scores_are_given_once) {
  Planner planner(small_options());
  NewRequest wanted = choices(1, 2, 20, 4);
  wanted.scores_prompt = true;
  planner.add(wanted, 0);
  const Plan first = tick(planner);
  BOOST_REQUIRE(first.rows.size() == 1U);
  BOOST_TEST((first.rows[0].output == RowOutput::all_logprobs));
  const Plan second = tick(planner);
  BOOST_TEST((row_of(second, 2)->output == RowOutput::sample));
}

}  // namespace
