// Priority: with a full pool an urgent request has its first token within three ticks and those
// that its own prompt takes, over many random full pools.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <iostream>
#include <random>

#include "tests/support/ticked_engine.hpp"

namespace {

using namespace tickertape;
using namespace tickertape::test;

/// A pool of any shape, and more work than it holds; all of it from the seed.
class FullPool {
 public:
  FullPool(unsigned seed, PreemptionMethod method) : random_(seed) {
    options_.page_size = 1U << draw(2, 5);
    options_.num_kv_pages = draw(8, 40);
    options_.max_num_seqs = draw(1, 8);
    options_.max_num_batched_tokens = options_.max_num_seqs + options_.page_size + draw(0, 40);
    options_.scheduling = Scheduling::priority;
    options_.admission = static_cast<Admission>(draw(0, 3));
    options_.preemption = method;
    // Sometimes less than what is swapped, and then some is computed again.
    options_.swap_space = std::uint64_t{draw(0, 2)} << 14;
    options_.prefix_caching = draw(0, 1) == 0;
    num_tokens_ = *options_.num_kv_pages * options_.page_size;
  }

  [[nodiscard]] const EngineOptions& options() const { return options_; }
  [[nodiscard]] std::uint32_t draw(std::uint32_t least, std::uint32_t most) {
    return least + static_cast<std::uint32_t>(random_() % (most - least + 1));
  }
  /// Everybody else: of lower classes, from short to nearly all of the pool.
  [[nodiscard]] Request filler() {
    return request_of(draw(0, 2) == 0 ? num_tokens_ * 2 / 3 : num_tokens_ / 4,
                      static_cast<std::int32_t>(draw(1, 3)));
  }
  [[nodiscard]] Request urgent() { return request_of(num_tokens_ / 2, 0); }

 private:
  Request request_of(std::uint32_t most, std::int32_t priority) {
    Request request;
    const std::uint32_t length = draw(1, std::max(1U, most));
    for (std::uint32_t i = 0; i < length; ++i) {
      request.prompt_ids.push_back(static_cast<TokenId>(draw(1, 900)));
    }
    request.max_tokens = draw(1, std::max(1U, num_tokens_ / 4));
    request.priority = priority;
    request.sampling.seed = random_();
    request.sampling.ignore_eos = true;
    return request;
  }

  std::mt19937 random_;
  EngineOptions options_;
  std::uint32_t num_tokens_ = 0;
};

struct Outcome {
  bool was_full = false;
  bool preempted = false;
};

Outcome trial(unsigned seed, PreemptionMethod method) {
  FullPool world(seed, method);
  TickedFake fake(world.options());
  TickedEngine& engine = *fake.engine;
  std::vector<Request> requests;
  for (std::uint32_t i = 0; i < 24; ++i) {
    requests.push_back(world.filler());
    engine.submit_at(world.draw(0, 10), requests.back());
  }
  requests.push_back(world.urgent());
  // From here on the first tick after which others wait: there is no room for the next.
  const std::uint64_t not_before = world.draw(3, 30);
  std::optional<std::size_t> wanted;
  Outcome outcome;
  std::uint32_t num_running = 0;
  engine.on_plan = [&](const actors::Plan& plan) {
    if (wanted || plan.tick < not_before || engine.planner().num_waiting() == 0) return;
    outcome.was_full = true;
    num_running = static_cast<std::uint32_t>(engine.planner().num_running());
    wanted = engine.submit(requests.back());
  };
  engine.run();
  for (std::size_t i = 0; i + 1 < requests.size(); ++i) {
    BOOST_TEST(fake.same_as_alone(i, requests[i]), "seed " << seed << ": request " << i);
  }
  if (!wanted) return outcome;
  BOOST_TEST(fake.same_as_alone(*wanted, requests.back()), "seed " << seed << ": the urgent one");
  const TickedAnswer& answer = engine.answer(*wanted);
  const auto prompt = static_cast<std::uint32_t>(requests.back().prompt_ids.size());
  // Beside a token of everybody else who runs.
  const std::uint32_t chunk = *world.options().max_num_batched_tokens - num_running;
  const std::uint64_t prefill = (prompt + chunk - 1) / chunk;
  const std::uint64_t first = answer.by_choice[0].sampled_at.at(0) - answer.submitted_at;
  BOOST_TEST(first <= 3 + prefill, "seed " << seed << ": the first token after " << first
                                           << " ticks, of which its prompt takes " << prefill);
  BOOST_TEST(answer.by_choice[0].preempted_at.empty(), "seed " << seed);
  outcome.preempted = engine.stats().preemptions > 0;
  BOOST_TEST(fake.probe->violations() == 0U, fake.probe->first_violation());
  return outcome;
}

BOOST_AUTO_TEST_CASE(an_urgent_one_in_a_full_pool_starts_within_three_ticks) {
  for (const auto method : {PreemptionMethod::recompute, PreemptionMethod::swap}) {
    unsigned num_full = 0;
    unsigned num_preempted = 0;
    for (unsigned seed = 1; seed <= 500; ++seed) {
      const Outcome outcome = trial(seed, method);
      num_full += outcome.was_full ? 1 : 0;
      num_preempted += outcome.preempted ? 1 : 0;
    }
    std::cout << num_full << " full pools, " << num_preempted << " with preemptions\n";
    BOOST_TEST(num_full > 450U);
    BOOST_TEST(num_preempted > 400U);
  }
}

}  // namespace
