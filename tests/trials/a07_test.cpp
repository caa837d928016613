// A07: a steady flow of small requests beside a big one, and the reverse. The first of the line is
// waited for: nobody who came later takes its place.
#include <boost/test/unit_test.hpp>

#include "tests/support/ticked_engine.hpp"

namespace {

using namespace tickertape;
using namespace tickertape::test;

constexpr std::uint32_t kNumFlowing = 6;  ///< Always in flight.
constexpr std::uint64_t kFlowEnds = 400;  ///< Ticks.
constexpr std::uint64_t kComesAt = 50;

struct Kind {
  std::uint32_t prompt = 0;
  std::uint32_t answer = 0;
};

/// One of `late` into a flow of `flowing`; it has its first token within `bound` ticks.
void trial(Kind flowing, Kind late, Admission admission, std::uint64_t bound) {
  EngineOptions options = tiny_options();
  options.max_num_batched_tokens = 64;
  options.admission = admission;
  options.prefix_caching = false;
  TickedFake fake(options);
  TickedEngine& engine = *fake.engine;
  const Request late_one = exact_request(1000, late.prompt, late.answer);
  const std::size_t wanted = engine.submit_at(kComesAt, late_one);
  std::uint32_t num_sent = 0;
  const auto send = [&] {
    engine.submit(exact_request(num_sent++, flowing.prompt, flowing.answer));
  };
  std::uint32_t num_ended_before = 0;
  std::uint32_t num_ended_after = 0;
  engine.on_end = [&](std::size_t which) {
    if (which == wanted) return;
    BOOST_TEST(engine.answer(which).tokens().size() == flowing.answer);
    ++(engine.tick() < kComesAt ? num_ended_before : num_ended_after);
    if (engine.tick() < kFlowEnds) send();
  };
  for (std::uint32_t i = 0; i < kNumFlowing; ++i) send();
  engine.run();
  BOOST_TEST(fake.same_as_alone(wanted, late_one));
  const TickedAnswer& answer = engine.answer(wanted);
  BOOST_TEST(answer.submitted_at == kComesAt);
  const std::uint64_t waited = answer.by_choice[0].sampled_at.at(0) - answer.submitted_at;
  BOOST_TEST(waited <= bound, "a07: the first token after " << waited << " ticks");
  // The flow went on before and after.
  BOOST_TEST(num_ended_before >= 2U);
  BOOST_TEST(num_ended_after >= kNumFlowing);
}

constexpr Kind kSmall{20, 20};
constexpr Kind kBig{300, 20};

BOOST_AUTO_TEST_CASE(a07_a_big_one_in_a_flow_of_small_ones) {
  for (const Admission admission : {Admission::predicted, Admission::prompt_only}) {
    // Those before it end within their 20 tokens and a tick or two for their prompts; then five
    // chunks, beside which whoever came after may run.
    trial(kSmall, kBig, admission, 22 + 6);
  }
}

BOOST_AUTO_TEST_CASE(a07_a_small_one_in_a_flow_of_big_ones) {
  for (const Admission admission : {Admission::predicted, Admission::prompt_only}) {
    // One at a time fits: those of the flow that came before it, 5 + 19 ticks each.
    trial(kBig, kSmall, admission, kNumFlowing * 24 + 1);
  }
}

}  // namespace
