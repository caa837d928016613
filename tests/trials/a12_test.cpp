// A12: a request with several choices counts as many times for slots, budget and pages; its prompt
// once. Each choice ends at its own time and gives its pages back then.
#include <boost/test/unit_test.hpp>
#include <numeric>
#include <set>

#include "tests/support/ticked_engine.hpp"

namespace {

using namespace tickertape;
using namespace tickertape::test;

constexpr std::uint32_t kPrompt = 64;

Request four_choices() {
  Request request;
  for (std::uint32_t i = 0; i < kPrompt; ++i) {
    request.prompt_ids.push_back(static_cast<TokenId>(1 + (i * 19) % 200));
  }
  request.n = 4;
  request.max_tokens = 60;
  request.sampling.temperature = 0.9;
  request.sampling.seed = 7;
  return request;
}

void check_choices(const TickedFake& fake, const Recorded& answer) {
  const Request request = four_choices();
  BOOST_REQUIRE(answer.finish.choices.size() == 4U);
  std::set<std::vector<TokenId>> texts;
  std::uint32_t sum = 0;
  for (std::uint32_t i = 0; i < 4; ++i) {
    const ChoiceFinish& finish = answer.finish.choices[i];
    BOOST_TEST((finish.reason == FinishReason::stop || finish.reason == FinishReason::length));
    BOOST_TEST(finish.completion_tokens == answer.tokens(i).size());
    BOOST_TEST(answer.ids(i) == fake.expected(request, i), boost::test_tools::per_element());
    sum += finish.completion_tokens;
    texts.insert(answer.ids(i));
  }
  BOOST_TEST(answer.finish.usage.completion_tokens == sum);
  BOOST_TEST(answer.finish.usage.prompt_tokens == kPrompt);
  BOOST_TEST(texts.size() > 1U);
}

void trial(std::uint32_t num_slots, PreemptionMethod method) {
  EngineOptions options = tiny_options();
  options.max_num_seqs = num_slots;
  options.preemption = method;
  options.swap_space = 1U << 20;
  options.admission = Admission::prompt_only;
  TickedFake fake(options);
  TickedEngine& engine = *fake.engine;
  // Twice at the same time: 4 pages for both prompts, up to 4 more for each choice, and 24 in all.
  const std::size_t both[] = {engine.submit(four_choices()), engine.submit(four_choices())};
  engine.on_plan = [&](const actors::Plan& plan) {
    std::set<SlotId> slots;
    for (const actors::PlanRow& row : plan.rows) slots.insert(row.slot);
    BOOST_TEST(slots.size() == plan.rows.size());
    BOOST_TEST(engine.planner().num_running() <= num_slots);
    for (const std::size_t which : both) {
      // Whoever has all of its tokens has no pages any more.
      const TickedAnswer& answer = engine.answer(which);
      for (std::uint32_t i = 0; i < 4; ++i) {
        const std::size_t all = fake.expected(four_choices(), i).size();
        const std::vector<std::uint64_t>& sampled = answer.by_choice[i].sampled_at;
        if (sampled.size() < all || sampled.back() == engine.tick()) continue;
        BOOST_TEST(engine.planner().find(answer.id + i) == nullptr);
      }
    }
  };
  engine.run();
  for (const std::size_t which : both) check_choices(fake, engine.answer(which));
  BOOST_TEST(same_tokens(engine.answer(both[0]), engine.answer(both[1])));
  const EngineStats stats = engine.stats();
  BOOST_TEST(stats.pages_held == 0U);
  BOOST_TEST(stats.num_running + stats.num_waiting == 0U);
  BOOST_TEST(fake.probe->violations() == 0U, fake.probe->first_violation());
  if (num_slots == 8) {
    BOOST_TEST((method == PreemptionMethod::swap ? stats.swap_preemptions
                                                 : stats.recompute_preemptions) > 0U);
  }
}

BOOST_AUTO_TEST_CASE(a12_four_choices_twice_in_a_small_pool) {
  for (const auto method : {PreemptionMethod::recompute, PreemptionMethod::swap}) {
    trial(8, method);
    trial(5, method);  // The second one's choices wait for slots.
  }
}

}  // namespace
