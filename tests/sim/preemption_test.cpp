// Preemption equivalence: whenever a request gives way, and however it comes back, its tokens are
// those of the undisturbed run.
#include <boost/test/unit_test.hpp>
#include <set>
#include <string>

#include "tests/support/real_model.hpp"
#include "tests/support/ticked_engine.hpp"

namespace {

using namespace tickertape;
using namespace tickertape::test;

constexpr std::uint32_t kChunk = 8;
constexpr std::uint32_t kPrompt = 3 * kChunk;
constexpr std::uint32_t kAnswer = 38;
constexpr std::uint64_t kTicks = kPrompt / kChunk + kAnswer - 1;  // The last chunk gives a token.
static_assert(kTicks == 40);

/// What the urgent one takes from the other.
enum class Short : std::uint8_t { slots, pages };

/// Sampling whose every token depends on those before it, so that a slot has to be opened again
/// with all that it was.
Request disturbed() {
  Request request;
  for (std::uint32_t i = 0; i < kPrompt; ++i) {
    request.prompt_ids.push_back(static_cast<TokenId>(100 + (i * i * 17 + i * 5) % 800));
  }
  request.max_tokens = kAnswer;
  request.priority = 1;
  request.sampling.temperature = 0.8;
  request.sampling.top_p = 0.95;
  request.sampling.repetition_penalty = 1.1;
  request.sampling.presence_penalty = 0.2;
  request.sampling.seed = 11;
  request.sampling.ignore_eos = true;
  request.sampling.logprobs = 3;
  return request;
}

Request urgent() {
  Request request;
  for (std::uint32_t i = 0; i < 6; ++i) {
    request.prompt_ids.push_back(static_cast<TokenId>(300 + i * 31));
  }
  request.max_tokens = 2;
  request.sampling.seed = 12;
  request.sampling.ignore_eos = true;
  return request;
}

EngineOptions options_of(PreemptionMethod method, Short what) {
  EngineOptions options;
  options.page_size = 4;
  options.max_num_seqs = what == Short::slots ? 1 : 2;
  options.num_kv_pages = what == Short::slots ? 64 : 16;
  options.prefill_chunk = kChunk;
  options.scheduling = Scheduling::priority;
  // With `pages` whoever runs holds all of them from its first tick on.
  options.admission = what == Short::slots ? Admission::prompt_only : Admission::max_len;
  options.preemption = method;
  options.swap_space = 8U << 20;
  options.prefix_caching = false;
  return options;
}

/// A run in which the urgent one comes when `tick` ticks were planned.
Recorded disturb_after(std::uint64_t tick, const std::shared_ptr<const Model>& model,
                       PreemptionMethod method, Short what) {
  TickedEngine engine(model, options_of(method, what));
  engine.submit(disturbed());
  engine.submit_at(tick, urgent());
  engine.run();
  const TickedChoice& choice = engine.answer(0).by_choice[0];
  const EngineStats stats = engine.stats();
  // It was to go on in the very next tick, and gave way there.
  BOOST_TEST(choice.preempted_at.size() == 1U);
  BOOST_TEST((!choice.preempted_at.empty() && choice.preempted_at[0] == tick + 1));
  BOOST_TEST(choice.rows_at.at(tick - 1) == tick);
  BOOST_TEST(choice.started_at.size() == 2U);
  BOOST_TEST((method == PreemptionMethod::swap ? stats.swap_preemptions
                                               : stats.recompute_preemptions) == 1U);
  if (method == PreemptionMethod::swap) BOOST_TEST(stats.recomputed_tokens == 0U);
  return engine.answer(0);
}

void trial(const std::shared_ptr<const Model>& model, Short what) {
  TickedEngine alone(model, options_of(PreemptionMethod::recompute, what));
  alone.submit(disturbed());
  alone.run();
  const Recorded& expected = alone.answer(0);
  BOOST_TEST(alone.tick() == kTicks);
  BOOST_TEST(expected.tokens().size() == kAnswer);
  for (const auto method : {PreemptionMethod::recompute, PreemptionMethod::swap}) {
    for (std::uint64_t tick = 1; tick < kTicks; ++tick) {
      const Recorded got = disturb_after(tick, model, method, what);
      BOOST_TEST(same_tokens(got, expected),
                 (method == PreemptionMethod::swap ? "swapped" : "computed again")
                     << " after tick " << tick << ": other tokens than undisturbed");
    }
  }
}

BOOST_AUTO_TEST_CASE(at_every_tick_on_the_paged_fake) {
  const auto model = make_paged_fake_model();
  trial(model, Short::slots);
  trial(model, Short::pages);
}

BOOST_AUTO_TEST_CASE(at_every_tick_on_the_real_model_bit_for_bit) {
  trial(real_model(), Short::slots);
}

}  // namespace
