// Shuffled pages: which physical pages a sequence has changes none of its tokens.
#include <boost/test/unit_test.hpp>
#include <random>

#include "tests/support/real_model.hpp"
#include "tests/support/ticked_engine.hpp"

namespace {

using namespace tickertape;
using namespace tickertape::test;

constexpr std::uint32_t kNumPages = 48;
constexpr std::uint32_t kPageSize = 16;
constexpr std::uint32_t kNumRequests = 8;

EngineOptions options_of(PreemptionMethod method) {
  EngineOptions options;
  options.num_kv_pages = kNumPages;
  options.page_size = kPageSize;
  options.max_num_seqs = kNumPages;
  options.admission = Admission::prompt_only;
  options.preemption = method;
  options.swap_space = 8U << 20;
  return options;
}

/// Together they need more pages than there are; two of them have choices that share and copy.
Request request_of(std::uint32_t which) {
  Request request;
  for (std::uint32_t i = 0; i < 50 + which * 9; ++i) {
    request.prompt_ids.push_back(static_cast<TokenId>(10 + (which * 71 + i * i * 3 + i) % 900));
  }
  request.max_tokens = 16 + which * 3;
  request.n = which % 4 == 2 ? 2 : 1;
  request.sampling.temperature = which % 2 == 0 ? 0.0 : 0.9;
  request.sampling.seed = which;
  request.sampling.ignore_eos = true;
  request.sampling.logprobs = 3;
  return request;
}

/// One page for each of as many short requests as there are pages. They end in a random order, so
/// that the pool's free pages come to lie in one; a few rounds mix it well.
void shuffle_free_pages(TickedEngine& engine, std::mt19937& random) {
  for (int round = 0; round < 3; ++round) {
    for (std::uint32_t i = 0; i < kNumPages; ++i) {
      Request request;
      request.prompt_ids = {static_cast<TokenId>(1 + i)};
      request.max_tokens = static_cast<std::uint32_t>(1 + random() % (kPageSize - 1));
      request.sampling.seed = i;
      request.sampling.ignore_eos = true;
      engine.submit(std::move(request));
    }
    engine.run();
  }
}

struct Run {
  std::vector<Recorded> answers;
  std::uint64_t num_pairs = 0;     ///< Neighbours in a page table,
  std::uint64_t num_adjacent = 0;  ///< and those that are neighbours in memory too.
  std::uint64_t preemptions = 0;
};

/// `shuffle`: 0 = pages as a new pool gives them, else the seed of another order.
Run run(const std::shared_ptr<const Model>& model, PreemptionMethod method, unsigned shuffle) {
  TickedEngine engine(model, options_of(method));
  std::mt19937 random(shuffle);
  if (shuffle > 0) shuffle_free_pages(engine, random);
  BOOST_TEST(engine.stats().pages_free == kNumPages);
  Run result;
  std::vector<std::size_t> numbers;
  for (std::uint32_t i = 0; i < kNumRequests; ++i) numbers.push_back(engine.submit(request_of(i)));
  engine.on_plan = [&](const actors::Plan& plan) {
    for (const actors::PlanOpened& opened : plan.opened) {
      const auto pages = engine.planner().pool().pages(opened.id);
      for (std::size_t i = 1; i < pages.size(); ++i) {
        ++result.num_pairs;
        result.num_adjacent += pages[i] == pages[i - 1] + 1 ? 1 : 0;
      }
    }
  };
  engine.run();
  for (const std::size_t number : numbers) result.answers.push_back(engine.answer(number));
  result.preemptions = engine.stats().preemptions;
  return result;
}

void trial(const std::shared_ptr<const Model>& model, PreemptionMethod method,
           unsigned num_shuffles) {
  const Run orderly = run(model, method, 0);
  BOOST_TEST(orderly.preemptions > 0U);
  BOOST_TEST(orderly.num_adjacent * 2 > orderly.num_pairs);
  for (unsigned shuffle = 1; shuffle <= num_shuffles; ++shuffle) {
    const Run shuffled = run(model, method, shuffle);
    BOOST_TEST(shuffled.preemptions == orderly.preemptions);
    BOOST_TEST(shuffled.num_adjacent * 4 < shuffled.num_pairs);  // It was another order indeed.
    for (std::uint32_t i = 0; i < kNumRequests; ++i) {
      BOOST_TEST(same_tokens(shuffled.answers[i], orderly.answers[i]),
                 "request " << i << " has other tokens with pages shuffled by " << shuffle);
    }
  }
}

BOOST_AUTO_TEST_CASE(shuffled_pages_on_the_paged_fake) {
  for (const auto method : {PreemptionMethod::recompute, PreemptionMethod::swap}) {
    PagedFakeOptions fake;
    fake.probe = std::make_shared<PagedFakeProbe>();
    trial(make_paged_fake_model(fake), method, 40);
    BOOST_TEST(fake.probe->violations() == 0U, fake.probe->first_violation());
  }
}

BOOST_AUTO_TEST_CASE(shuffled_pages_on_the_real_model_bit_for_bit) {
  trial(real_model(), PreemptionMethod::recompute, 1);
  trial(real_model(), PreemptionMethod::swap, 1);
}

}  // namespace
