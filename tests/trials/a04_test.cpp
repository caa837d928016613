// A04: many requests that outgrow a small pool together. Each preemption pays: whoever comes back
// goes on, the oldest never gives way, and little is computed twice.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <iostream>

#include "tests/support/ticked_engine.hpp"

namespace {

using namespace tickertape;
using namespace tickertape::test;

constexpr std::uint32_t kNumRequests = 6;
constexpr std::uint32_t kPrompt = 60;
constexpr std::uint32_t kAnswer = 200;

void trial(Admission admission, PreemptionMethod method) {
  EngineOptions options = tiny_options();
  options.admission = admission;
  options.preemption = method;
  options.swap_space = 1U << 20;
  TickedFake fake(options);
  TickedEngine& engine = *fake.engine;
  engine.on_plan = [](const actors::Plan& plan) {
    const bool samples = std::any_of(plan.rows.begin(), plan.rows.end(), [](const auto& row) {
      return row.output == RowOutput::sample;
    });
    BOOST_TEST((plan.preempted.empty() || samples), "a04: a tick preempts and gives no token");
  };
  for (std::uint32_t i = 0; i < kNumRequests; ++i)
    engine.submit(exact_request(i, kPrompt, kAnswer));
  engine.run();

  std::uint64_t most = 0;
  for (std::uint32_t i = 0; i < kNumRequests; ++i) {
    BOOST_TEST(fake.same_as_alone(i, exact_request(i, kPrompt, kAnswer)), "a04: request " << i);
    const TickedChoice& choice = engine.answer(i).by_choice[0];
    most = std::max<std::uint64_t>(most, choice.preempted_at.size());
    // Between two preemptions there is a token.
    for (std::size_t k = 1; k < choice.preempted_at.size(); ++k) {
      const auto next = std::upper_bound(choice.sampled_at.begin(), choice.sampled_at.end(),
                                         choice.started_at.at(k) - 1);
      BOOST_TEST((next != choice.sampled_at.end() && *next < choice.preempted_at[k]),
                 "a04: request " << i << " came back for nothing");
    }
  }
  BOOST_TEST(engine.answer(0).by_choice[0].preempted_at.empty());  // The oldest.
  const EngineStats stats = engine.stats();
  std::cout << "a04: " << stats.preemptions << " preemptions, at most " << most << " of one, "
            << stats.recomputed_tokens << " tokens computed again, " << engine.tick() << " ticks\n";
  BOOST_TEST(stats.preemptions <= 3 * kNumRequests);
  BOOST_TEST(most <= 5U);
  BOOST_TEST(stats.recomputed_tokens <= std::uint64_t{2} * kNumRequests * (kPrompt + kAnswer));
  BOOST_TEST(stats.pages_held == 0U);
  BOOST_TEST(fake.probe->violations() == 0U, fake.probe->first_violation());
  BOOST_TEST((method == PreemptionMethod::swap ? stats.swap_preemptions
                                               : stats.recompute_preemptions) > 0U);
}

BOOST_AUTO_TEST_CASE(a04_whoever_comes_back_goes_on) {
  for (const Admission admission : {Admission::predicted, Admission::prompt_only}) {
    for (const auto method : {PreemptionMethod::recompute, PreemptionMethod::swap}) {
      trial(admission, method);
    }
  }
}

}  // namespace
