// A02: several long prompts that would fit alone and not together. None is half admitted: the first
// of them computes, the others hold nothing until they fit.
#include <boost/test/unit_test.hpp>
#include <vector>

#include "tests/support/ticked_engine.hpp"

namespace {

using namespace tickertape;
using namespace tickertape::test;

constexpr std::uint32_t kPrompt = 300;
constexpr std::uint32_t kChunk = 64;
constexpr std::uint32_t kAnswer = 8;

void trial(std::uint32_t at_once, Admission admission) {
  EngineOptions options = tiny_options();
  options.max_num_batched_tokens = kChunk;
  options.admission = admission;
  TickedFake fake(options);
  TickedEngine& engine = *fake.engine;
  engine.on_plan = [&](const actors::Plan& plan) {
    // Somebody goes on as long as somebody is left.
    const bool is_left = engine.planner().num_running() + engine.planner().num_waiting() > 0;
    BOOST_TEST((!is_left || !plan.rows.empty()), "a02: nobody moves in tick " << plan.tick);
    for (const actors::PlanRow& row : plan.rows) {
      const SequenceView& view = engine.planner().find(row.id)->view;
      BOOST_TEST(view.pages * 16 >= kPrompt, "a02: it runs without room for all of its prompt");
    }
  };
  for (std::uint32_t i = 0; i < at_once; ++i) engine.submit(exact_request(i, kPrompt, kAnswer));
  engine.run();
  for (std::uint32_t i = 0; i < at_once; ++i) {
    BOOST_TEST(fake.same_as_alone(i, exact_request(i, kPrompt, kAnswer)),
               "a02: request " << i << " of " << at_once);
  }
  // One after the other; the last chunk gives the first token.
  constexpr std::uint64_t kTicksOfOne = (kPrompt + kChunk - 1) / kChunk + kAnswer - 1;
  BOOST_TEST(engine.tick() <= at_once * kTicksOfOne);
  BOOST_TEST(engine.stats().preemptions == 0U);
  BOOST_TEST(engine.stats().pages_held == 0U);
  BOOST_TEST(fake.probe->violations() == 0U, fake.probe->first_violation());
}

BOOST_AUTO_TEST_CASE(a02_long_prompts_that_do_not_fit_together) {
  for (const Admission admission : {Admission::predicted, Admission::prompt_only}) {
    for (const std::uint32_t at_once : {2U, 3U, 4U}) trial(at_once, admission);
  }
}

}  // namespace
