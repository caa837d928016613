// A15: what the prefix cache keeps is there for whoever needs it: it counts neither as used nor
// twice, and a request that needs the whole pool does not wait for it.
#include <boost/test/unit_test.hpp>

#include "tests/support/ticked_engine.hpp"

namespace {

using namespace tickertape;
using namespace tickertape::test;

constexpr std::uint32_t kPool = 24 * 16;

void trial(Admission admission) {
  EngineOptions options = tiny_options();
  options.admission = admission;
  TickedFake fake(options);
  TickedEngine& engine = *fake.engine;
  const auto check_sum = [&] {
    const KvPool& pool = engine.planner().pool();
    BOOST_TEST(pool.num_free() + pool.num_cached() + pool.num_held() == 24U);
    BOOST_TEST(pool.num_available() == 24U - pool.num_held());
  };
  engine.on_plan = [&](const actors::Plan&) { check_sum(); };
  const auto ask = [&](const Request& request) {
    const std::uint64_t before = engine.tick();
    const std::size_t which = engine.submit(request);
    engine.run();
    const TickedAnswer& answer = engine.answer(which);
    BOOST_TEST(fake.same_as_alone(which, request));
    BOOST_REQUIRE(answer.by_choice[0].started_at.size() == 1U);
    BOOST_TEST(answer.by_choice[0].started_at[0] == before + 1, "a15: it waited while nothing ran");
    check_sum();
    BOOST_TEST(engine.stats().pages_held == 0U);
  };
  for (std::uint32_t i = 0; i < 30; ++i) ask(exact_request(i, 200, 4));
  // Nearly all of it; with room for the longest, each takes the whole pool.
  BOOST_TEST(engine.stats().pages_cached >= (admission == Admission::max_len ? 12U : 20U));
  ask(exact_request(99, kPool - 4, 4));
  ask(exact_request(7, 200, 4));
  BOOST_TEST(engine.stats().preemptions == 0U);
  BOOST_TEST(fake.probe->violations() == 0U, fake.probe->first_violation());
}

BOOST_AUTO_TEST_CASE(a15_a_full_cache_is_no_full_pool) {
  for (const Admission admission :
       {Admission::predicted, Admission::prompt_only, Admission::reserve, Admission::max_len}) {
    trial(admission);
  }
}

}  // namespace
