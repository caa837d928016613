// Memory: the prefix cache, swapping, and preemption by a higher class, rule by rule.
#include <boost/test/unit_test.hpp>
#include <vector>

#include "actors/order.hpp"
#include "tests/unit/actors/planning.hpp"

namespace {

using namespace tickertape;
using namespace tickertape::actors;
using namespace tickertape::test;

/// A request whose first pages have these names.
NewRequest named(SequenceId id, std::uint32_t prompt, std::uint32_t generate,
                 std::vector<PageName> names) {
  NewRequest wanted = sequence(id, prompt, generate);
  wanted.names = std::move(names);
  return wanted;
}

/// Ticks of 1 ms a token and a swap of 1 us a page, so that costs are known.
Plan timed_tick(Planner& planner, std::int64_t& now_ns) {
  Plan plan = planner.make_plan(now_ns);
  planner.check();
  Demand demand = run(planner, plan);
  std::uint32_t tokens = 0;
  for (const PlanRow& row : plan.rows) tokens += row.num_tokens;
  demand.pass_ns = 500'000 + std::int64_t{tokens} * 100'000;
  demand.swap_ns = static_cast<std::int64_t>(plan.swap_out.size() + plan.swap_in.size()) * 1000;
  now_ns += demand.pass_ns + demand.swap_ns;
  planner.commit(demand);
  planner.check();
  return plan;
}

/// Passes of many kinds, so that the model of their time is known.
void warm_up(Planner& planner, std::int64_t& now_ns) {
  for (SequenceId id = 1000; id < 1060; ++id) {
    planner.add(sequence(id, 1 + static_cast<std::uint32_t>(id * 37 % 60), 4), now_ns);
    if (id % 3 != 0) continue;
    while (planner.num_running() + planner.num_waiting() > 0) timed_tick(planner, now_ns);
  }
  while (planner.num_running() + planner.num_waiting() > 0) timed_tick(planner, now_ns);
  BOOST_TEST_REQUIRE(planner.pass_model().ready());
}

BOOST_AUTO_TEST_CASE(an_equal_beginning_is_found_and_shared) {
  Planner planner(small_options());
  planner.add(named(1, 40, 8, {101, 102}), 0);
  tick(planner);
  planner.add(named(2, 40, 8, {101, 102}), 0);
  const Plan plan = tick(planner);
  BOOST_TEST(plan.opened.at(0).cached_tokens == 32U);
  BOOST_TEST(row_of(plan, 2)->num_tokens == 8U);
  BOOST_TEST(planner.find(2)->table[0] == planner.find(1)->table[0]);
  BOOST_TEST(planner.pool().references(planner.find(1)->table[1]) == 2U);
  BOOST_TEST(planner.counters().prefix_hits == 32U);
}

BOOST_AUTO_TEST_CASE(at_least_one_prompt_token_is_computed) {
  Planner planner(small_options());
  planner.add(named(1, 32, 8, {101, 102}), 0);
  tick(planner);
  planner.add(named(2, 32, 8, {101, 102}), 0);
  const Plan plan = tick(planner);
  BOOST_TEST(plan.opened.at(0).cached_tokens == 16U);
  BOOST_TEST((row_of(plan, 2)->output == RowOutput::sample));
}

BOOST_AUTO_TEST_CASE(pages_outlive_their_sequence_until_others_need_them) {
  PlannerOptions options = small_options();
  options.pool.num_pages = 4;
  Planner planner(options);
  planner.add(named(1, 33, 1, {101, 102}), 0);
  tick(planner);
  BOOST_TEST(planner.num_running() == 0U);
  BOOST_TEST(planner.pool().num_cached() == 2U);
  BOOST_TEST(planner.pool().num_available() == 4U);
  planner.add(named(2, 64, 1, {101, 201, 202}), 0);
  BOOST_TEST(tick(planner).opened.at(0).cached_tokens == 16U);
  // The tail of the first went before its head.
  planner.add(named(3, 33, 1, {101, 102}), 0);
  BOOST_TEST(tick(planner).opened.at(0).cached_tokens == 16U);
}

BOOST_AUTO_TEST_CASE(who_needs_a_page_that_is_being_computed_waits_for_it) {
  Planner planner(small_options());
  planner.add(named(1, 40, 8, {101, 102}), 0);
  planner.add(named(2, 40, 8, {101, 102}), 0);
  planner.add(named(3, 20, 8, {301}), 0);  // Others need not wait with it.
  const Plan first = tick(planner);
  BOOST_TEST(first.opened.size() == 2U);
  BOOST_TEST(row_of(first, 2) == nullptr);
  BOOST_TEST(row_of(first, 3) != nullptr);
  BOOST_TEST(tick(planner).opened.at(0).cached_tokens == 32U);
}

BOOST_AUTO_TEST_CASE(prompt_scores_need_every_token_computed) {
  Planner planner(small_options());
  planner.add(named(1, 40, 8, {101, 102}), 0);
  tick(planner);
  NewRequest wanted = named(2, 40, 8, {101, 102});
  wanted.scores_prompt = true;
  planner.add(wanted, 0);
  BOOST_TEST(row_of(tick(planner), 2)->num_tokens == 40U);
}

/// 4 pages, and so many on the host.
PlannerOptions swapping_options(std::uint32_t num_host_pages) {
  PlannerOptions options = small_options();
  options.pool.num_pages = 4;
  options.num_host_pages = num_host_pages;
  options.preemption_method = PreemptionMethod::swap;
  return options;
}

void add_two_that_outgrow_the_pool(Planner& planner) {
  planner.add(sequence(1, 30, 30), 0);
  planner.add(sequence(2, 30, 20), 0);
}

BOOST_AUTO_TEST_CASE(a_victim_goes_to_the_host_and_comes_back) {
  Planner planner(swapping_options(8));
  add_two_that_outgrow_the_pool(planner);
  std::uint32_t computed_before = 0;
  bool went = false;
  bool came = false;
  for (int i = 0; i < 100 && planner.num_running() + planner.num_waiting() > 0; ++i) {
    if (const PlannedSequence* second = planner.find(2); second != nullptr && second->running) {
      computed_before = second->view.num_computed;
    }
    const Plan plan = tick(planner);
    if (!plan.preempted.empty()) {
      BOOST_TEST((plan.preempted[0].how == Notice::How::swap));
      BOOST_TEST(plan.swap_out.size() == 2U);
      BOOST_TEST(planner.host_pool().num_free() == 6U);
      went = true;
    }
    if (went && !plan.opened.empty()) {
      BOOST_TEST((plan.opened[0].how == Notice::How::swap));
      BOOST_TEST(plan.swap_in.size() == 2U);
      BOOST_TEST(row_of(plan, 2)->first_position == computed_before);
      came = true;
    }
  }
  BOOST_TEST(came);
  BOOST_TEST(planner.counters().recomputed_tokens == 0U);
  BOOST_TEST(planner.host_pool().num_free() == 8U);
}

BOOST_AUTO_TEST_CASE(without_room_on_the_host_it_is_computed_again) {
  Planner planner(swapping_options(1));
  add_two_that_outgrow_the_pool(planner);
  while (planner.num_running() + planner.num_waiting() > 0) tick(planner);
  BOOST_TEST(planner.counters().swap_preemptions == 0U);
  BOOST_TEST(planner.counters().recompute_preemptions == 1U);
}

BOOST_AUTO_TEST_CASE(a_cancelled_sequence_gives_its_host_pages_back) {
  Planner planner(swapping_options(8));
  add_two_that_outgrow_the_pool(planner);
  while (tick(planner).preempted.empty()) {
  }
  BOOST_TEST(planner.host_pool().num_free() == 6U);
  ReaderEvent gone;
  gone.id = 2;
  gone.cancelled = true;
  planner.apply(gone);
  planner.check();
  BOOST_TEST(planner.host_pool().num_free() == 8U);
}

BOOST_AUTO_TEST_CASE(what_a_failed_swap_lost_is_computed_again) {
  Planner planner(swapping_options(8));
  add_two_that_outgrow_the_pool(planner);
  for (;;) {
    const Plan plan = planner.make_plan(0);
    Demand demand = run(planner, plan);
    demand.swap_failed = !plan.swap_out.empty();
    planner.commit(demand);
    planner.check();
    if (!plan.swap_out.empty()) break;
  }
  BOOST_TEST(planner.host_pool().num_free() == 8U);
  Plan plan;
  while (plan.opened.empty()) plan = tick(planner);
  BOOST_TEST(plan.opened[0].id == 2U);
  BOOST_TEST(row_of(plan, 2)->first_position == 0U);
}

BOOST_AUTO_TEST_CASE(the_cheaper_way_is_taken) {
  for (const bool swap_is_cheap : {true, false}) {
    PlannerOptions options = small_options();
    options.pool.num_pages = 5;
    options.num_host_pages = 8;
    options.swap_ns_per_page = swap_is_cheap ? 1000 : 1'000'000'000;
    Planner planner(options);
    std::int64_t now_ns = 0;
    warm_up(planner, now_ns);
    const PlannerCounters before = planner.counters();
    planner.add(sequence(1, 30, 60), now_ns);
    planner.add(sequence(2, 10, 60), now_ns);
    planner.add(sequence(3, 5, 60), now_ns);
    while (planner.num_running() + planner.num_waiting() > 0) timed_tick(planner, now_ns);
    const PlannerCounters& after = planner.counters();
    BOOST_TEST((after.swap_preemptions > before.swap_preemptions) == swap_is_cheap);
    BOOST_TEST((after.recompute_preemptions > before.recompute_preemptions) == !swap_is_cheap);
  }
}

BOOST_AUTO_TEST_CASE(a_higher_class_preempts_for_a_slot_and_only_as_many_as_needed) {
  PlannerOptions options = small_options();
  options.order = priority_order(1'000'000'000);
  options.max_num_seqs = 3;
  Planner planner(options);
  for (SequenceId id = 1; id <= 3; ++id) {
    NewRequest wanted = sequence(id, 10, 50);
    wanted.priority = id == 1 ? 1 : 2;
    planner.add(wanted, 0);
  }
  tick(planner);
  NewRequest urgent = sequence(9, 10, 5);
  urgent.priority = 0;
  planner.add(urgent, 10);
  const Plan plan = tick(planner);
  BOOST_TEST(plan.preempted.size() == 1U);
  BOOST_TEST(plan.preempted.at(0).id == 3U);  // Of the lowest class the youngest.
  BOOST_TEST(row_of(plan, 9) != nullptr);
}

BOOST_AUTO_TEST_CASE(a_higher_class_preempts_nobody_when_that_does_not_help) {
  PlannerOptions options = small_options();
  options.order = priority_order(1'000'000'000);
  Planner planner(options);
  NewRequest high = sequence(1, 300, 30);  // 19 of 24 pages
  high.priority = 0;
  planner.add(high, 0);
  NewRequest low = sequence(2, 40, 30);
  low.priority = 5;
  planner.add(low, 0);
  for (int i = 0; i < 8; ++i) tick(planner);
  NewRequest urgent = sequence(3, 100, 5);  // 7 pages: not even with those of 2
  urgent.priority = 0;
  planner.add(urgent, 0);
  const Plan plan = tick(planner);
  BOOST_TEST(plan.preempted.empty());
  BOOST_TEST(row_of(plan, 2) != nullptr);
}

BOOST_AUTO_TEST_CASE(a_deadline_that_cannot_be_met_ends_a_request_before_it_costs_anything) {
  PlannerOptions options = small_options();
  options.order = deadline_order();
  Planner planner(options);
  std::int64_t now_ns = 0;
  warm_up(planner, now_ns);
  NewRequest hopeless = sequence(7, 60, 5);  // 6 ms of work
  hopeless.deadline_ns = now_ns + 1'000'000;
  planner.add(hopeless, now_ns);
  const Plan plan = planner.make_plan(now_ns);
  BOOST_TEST(plan.rows.empty());
  BOOST_TEST(plan.ended.at(0).id == 7U);
  BOOST_TEST((plan.ended.at(0).reason == FinishReason::deadline));
}

BOOST_AUTO_TEST_CASE(an_answer_that_will_not_end_in_time_makes_way_for_those_that_wait) {
  PlannerOptions options = small_options();
  options.order = deadline_order();
  options.max_num_seqs = 1;
  // What a token takes is known, and that answers have 20 of them, whatever is declared.
  const auto ends_of = [&](std::int64_t left_ns, bool others_wait) {
    Planner planner(options);
    std::int64_t now_ns = 0;
    warm_up(planner, now_ns);
    for (SequenceId id = 1; id <= 40; ++id) {
      planner.add(sequence(id, 5, 200), now_ns);
      while (planner.find(id) != nullptr) {
        const Plan plan = planner.make_plan(now_ns);
        Demand demand = run(planner, plan);
        for (RowDone& row : demand.done) {
          row.ended = row.by_itself = planner.find(row.id)->view.num_generated() == 19;
        }
        planner.commit(demand);
      }
    }
    NewRequest tight = sequence(100, 5, 200);
    tight.deadline_ns = now_ns + left_ns;
    planner.add(tight, now_ns);
    if (others_wait) planner.add(sequence(101, 5, 200), now_ns);
    const Plan plan = planner.make_plan(now_ns);
    BOOST_TEST((row_of(plan, 100) != nullptr) == plan.ended.empty());
    BOOST_TEST((row_of(plan, 101) != nullptr) == (others_wait && !plan.ended.empty()));
    for (const PlanEnded& ended : plan.ended) {
      BOOST_TEST(ended.id == 100U);
      BOOST_TEST((ended.reason == FinishReason::deadline));
    }
    return plan.ended.size();
  };
  // A pass of one token takes 600 us: so 5 tokens, and 50.
  BOOST_TEST(ends_of(4'000'000, true) == 1U);
  BOOST_TEST(ends_of(4'000'000, false) == 0U);
  BOOST_TEST(ends_of(31'000'000, true) == 0U);
}

BOOST_AUTO_TEST_CASE(chunks_are_cut_so_that_a_pass_stays_within_its_time) {
  PlannerOptions options = small_options();
  options.pool.num_pages = 200;
  options.max_num_batched_tokens = 512;
  options.itl_target_ns = 5'000'000;  // 45 tokens at 100 us beside the base of 500 us.
  Planner planner(options);
  std::int64_t now_ns = 0;
  warm_up(planner, now_ns);
  planner.add(sequence(10, 10, 100), now_ns);
  timed_tick(planner, now_ns);
  planner.add(sequence(11, 1000, 5), now_ns);
  timed_tick(planner, now_ns);
  const Plan plan = timed_tick(planner, now_ns);
  BOOST_TEST(row_of(plan, 10) != nullptr);
  BOOST_TEST(row_of(plan, 11)->num_tokens >= 36U);
  BOOST_TEST(row_of(plan, 11)->num_tokens <= 46U);
}

}  // namespace
