// Batching modes, in counts: the examples that articles about continuous batching begin with.
#include <boost/test/unit_test.hpp>
#include <map>
#include <vector>

#include "tests/unit/actors/planning.hpp"

namespace {

using namespace tickertape;
using namespace tickertape::actors;
using namespace tickertape::test;

PlannerOptions slots_of(std::uint32_t num_slots, Batching batching) {
  PlannerOptions options;
  options.pool = KvPoolOptions{20'000, 16};
  options.max_num_seqs = num_slots;
  options.max_num_batched_tokens = 512;
  options.batching = batching;
  options.prefix_caching = false;
  return options;
}

/// What a run over these output lengths came to, all there from the beginning.
struct Counted {
  std::uint64_t ticks = 0;
  PlannerCounters counters;
  std::vector<std::uint64_t> held;   ///< Ticks between an answer's last token and its delivery.
  std::uint64_t idle_with_line = 0;  ///< Slots without work in ticks after which others waited.
};

Counted count(const PlannerOptions& options, const std::vector<std::uint32_t>& lengths,
              std::uint32_t prompt = 4) {
  Planner planner(options);
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    planner.add(sequence(i + 1, prompt, lengths[i], 100'000), 0);
  }
  Counted counted;
  std::map<SequenceId, std::uint64_t> ended;
  std::uint64_t last_batch_end = 0;
  while (planner.num_running() + planner.num_waiting() > 0) {
    const Plan plan = planner.make_plan(0);
    planner.check();
    if (plan.batch_ended) last_batch_end = counted.ticks;
    if (plan.rows.empty()) break;
    ++counted.ticks;
    if (planner.num_waiting() > 0) {
      counted.idle_with_line += options.max_num_seqs - plan.rows.size();
    }
    const Demand demand = run(planner, plan);
    for (const RowDone& done : demand.done) {
      if (done.ended) ended[done.id] = counted.ticks;
    }
    planner.commit(demand);
    planner.check();
  }
  for (const auto& [id, tick] : ended) counted.held.push_back(last_batch_end - tick);
  counted.counters = planner.counters();
  return counted;
}

BOOST_AUTO_TEST_CASE(three_answers_of_6_50_and_300_tokens) {
  const std::vector<std::uint32_t> lengths{6, 50, 300};
  const Counted fixed = count(slots_of(3, Batching::static_batch), lengths);
  BOOST_TEST(fixed.ticks == 300U);
  BOOST_TEST(fixed.counters.slot_ticks == 900U);
  BOOST_TEST(fixed.counters.useful_slot_ticks == 356U);  // 39.6 %
  const std::vector<std::uint64_t> held{294, 250, 0};
  BOOST_TEST(fixed.held == held, boost::test_tools::per_element());
  BOOST_TEST(fixed.counters.finished_row_tokens == 294U + 250U);
  for (const Batching batching : {Batching::iteration, Batching::chunked}) {
    const Counted moving = count(slots_of(3, batching), lengths);
    BOOST_TEST(moving.ticks == 300U);
    BOOST_TEST(moving.counters.useful_slot_ticks == 356U);
    BOOST_TEST(moving.counters.finished_row_tokens == 0U);
  }
}

BOOST_AUTO_TEST_CASE(a_short_answer_beside_a_long_one) {
  const Counted fixed = count(slots_of(2, Batching::static_batch), {20, 2000});
  BOOST_TEST(fixed.counters.slot_ticks == 4000U);
  BOOST_TEST(fixed.counters.useful_slot_ticks == 2020U);  // 50.5 %
}

BOOST_AUTO_TEST_CASE(thirty_one_short_answers_beside_a_long_one) {
  std::vector<std::uint32_t> lengths(31, 20);
  lengths.push_back(2000);
  const Counted fixed = count(slots_of(32, Batching::static_batch), lengths);
  BOOST_TEST(fixed.counters.slot_ticks == 64'000U);
  BOOST_TEST(fixed.counters.useful_slot_ticks == 2620U);  // 4.1 %: a gain of up to 24.4
}

BOOST_AUTO_TEST_CASE(a_slot_that_falls_free_works_again_in_the_next_tick) {
  std::vector<std::uint32_t> lengths;
  for (int i = 0; i < 30; ++i) lengths.insert(lengths.end(), {6, 50, 300});
  for (const Batching batching : {Batching::iteration, Batching::chunked}) {
    const Counted moving = count(slots_of(3, batching), lengths);
    BOOST_TEST(moving.idle_with_line == 0U);
    // Work over slots, and the longest may begin last.
    constexpr std::uint64_t kWork = 30U * 356U;
    BOOST_TEST(moving.ticks <= kWork / 3 + 300);
    BOOST_TEST(moving.ticks * 100 <= kWork / 3 * 105);
  }
  const Counted fixed = count(slots_of(3, Batching::static_batch), lengths);
  BOOST_TEST(fixed.ticks == 30U * 300U);
}

BOOST_AUTO_TEST_CASE(a_static_batch_pads_its_prompts_to_the_longest) {
  Planner planner(slots_of(4, Batching::static_batch));
  std::uint32_t id = 0;
  for (const std::uint32_t prompt : {10U, 700U, 30U, 700U}) {
    planner.add(sequence(++id, prompt, 5), 0);
  }
  const Plan plan = tick(planner);
  std::map<SequenceId, std::uint32_t> work;
  std::map<SequenceId, std::uint32_t> padding;
  std::map<std::uint32_t, std::uint32_t> by_slice;
  for (const PlanRow& row : plan.rows) {
    (row.kind == RowKind::work ? work : padding)[row.id] += row.num_tokens;
    by_slice[row.slice] += row.num_tokens;
    if (row.kind == RowKind::padding) BOOST_TEST((row.output == RowOutput::none));
  }
  BOOST_TEST(work[1] == 10U);
  BOOST_TEST(padding[1] == 690U);
  BOOST_TEST(padding[3] == 670U);
  BOOST_TEST(padding.count(2) == 0U);
  for (const auto& [slice, tokens] : by_slice) BOOST_TEST(tokens <= 512U);
  BOOST_TEST(planner.counters().prompt_padding_tokens == 1360U);
}

BOOST_AUTO_TEST_CASE(a_static_batch_waits_for_company_and_not_for_ever) {
  PlannerOptions options = slots_of(4, Batching::static_batch);
  options.static_batch_wait_ns = 1000;
  Planner planner(options);
  planner.add(sequence(1, 10, 5), 100);
  const Plan early = planner.make_plan(200);
  BOOST_TEST(early.rows.empty());
  BOOST_TEST(early.wake_at_ns == 1100);
  BOOST_TEST(planner.make_plan(1100).rows.size() == 1U);
}

BOOST_AUTO_TEST_CASE(sorted_batches_take_those_most_like_the_first) {
  Planner planner(slots_of(2, Batching::static_sorted));
  std::uint32_t id = 0;
  for (const std::uint32_t prompt : {100U, 10U, 50U, 96U}) {
    planner.add(sequence(++id, prompt, 5), 0);
  }
  const Plan plan = tick(planner);
  BOOST_TEST(plan.opened.size() == 2U);
  BOOST_TEST(row_of(plan, 1) != nullptr);
  BOOST_TEST(row_of(plan, 4) != nullptr);
}

BOOST_AUTO_TEST_CASE(iteration_reads_whole_prompts_in_the_passes_of_one_tick) {
  Planner planner(slots_of(4, Batching::iteration));
  planner.add(sequence(1, 1200, 5), 0);
  planner.add(sequence(2, 30, 5), 0);
  const Plan plan = tick(planner);
  std::uint32_t tokens = 0;
  for (const PlanRow& row : plan.rows) tokens += row.num_tokens;
  BOOST_TEST(tokens == 1230U);
  BOOST_TEST(plan.rows.back().slice == 2U);
  BOOST_TEST(planner.find(1)->view.num_tokens == 1201U);
  BOOST_TEST(planner.find(2)->view.num_tokens == 31U);
}

}  // namespace
