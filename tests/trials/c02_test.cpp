// C02: a request's tokens and log-probabilities do not depend on what runs beside it: alone or
// together, whatever the chunk, the threads and the room in the pool. On the real model.
#include <boost/test/unit_test.hpp>
#include <deque>
#include <iostream>
#include <string>
#include <vector>

#include "tests/support/real_model.hpp"
#include "tests/support/recorded.hpp"

namespace {

using namespace tickertape;
using namespace tickertape::test;

constexpr std::uint32_t kNumRequests = 32;

Request real_request(std::uint32_t which) {
  static const char* const kWords[] = {"river",  "stone",  "window", "garden", "engine",
                                       "letter", "market", "silver", "candle", "forest"};
  Request request;
  request.prompt = "Write about the ";
  // Mostly short prompts that outgrow their first pages together, and a few of many chunks.
  const std::uint32_t num_words = which % 11 == 4 ? 60 : 1 + which % 6;
  for (std::uint32_t i = 0; i < num_words; ++i) {
    request.prompt += kWords[(which * 7 + i * 3 + i * i) % 10];
    request.prompt += i + 1 < num_words ? " and the " : ".";
  }
  request.max_tokens = 16 + which % 16;
  request.sampling.temperature = which % 2 == 0 ? 0.0 : 0.9;
  request.sampling.top_p = which % 4 == 1 ? 0.95 : 1.0;
  request.sampling.top_k = which % 8 == 3 ? 40 : 0;
  request.sampling.seed = 1000 + which;
  request.sampling.ignore_eos = true;
  request.sampling.logprobs = 5;
  return request;
}

std::deque<Recorded> run_together(const EngineOptions& options, std::uint64_t& preemptions) {
  Engine engine(real_model(), options);
  std::vector<Request> requests;
  for (std::uint32_t i = 0; i < kNumRequests; ++i) requests.push_back(real_request(i));
  std::deque<Recorded> answers = record_together(engine, requests);
  preemptions = idle_stats(engine).preemptions;
  return answers;
}

std::deque<Recorded> run_alone() {
  EngineOptions options;
  options.threads = 1;
  options.kv_cache_memory = 64U << 20;
  Engine engine(real_model(), options);
  std::deque<Recorded> answers;
  for (std::uint32_t i = 0; i < kNumRequests; ++i) {
    answers.push_back(record_alone(engine, real_request(i)));
  }
  return answers;
}

BOOST_AUTO_TEST_CASE(c02_the_same_tokens_in_any_company) {
  const std::deque<Recorded> alone = run_alone();
  for (std::uint32_t i = 0; i < kNumRequests; ++i) {
    BOOST_TEST(alone[i].ids().size() == real_request(i).max_tokens);
  }
  struct Company {
    const char* name;
    std::uint32_t chunk;
    unsigned threads;
    std::uint32_t pages;  ///< 0: roomy
    PreemptionMethod method = PreemptionMethod::recompute;
    Batching batching = Batching::chunked;
  };
  const Company companies[] = {
      {"chunk 16, one thread", 16, 1, 0},
      {"chunk 64, two threads", 64, 2, 0},
      {"chunk 512, two threads", 512, 2, 0},
      {"tiny pool, chunk 64", 64, 2, 24},
      {"tiny pool, one thread, swapping", 0, 1, 24, PreemptionMethod::swap},
      {"static batches", 0, 2, 0, PreemptionMethod::recompute, Batching::static_batch},
  };
  for (const Company& company : companies) {
    EngineOptions options;
    options.prefill_chunk = company.chunk;
    options.threads = company.threads;
    options.kv_cache_memory = 64U << 20;
    if (company.pages > 0) options.num_kv_pages = company.pages;
    options.admission = Admission::prompt_only;  // The one that preempts most.
    options.preemption = company.method;
    options.batching = company.batching;
    std::uint64_t preemptions = 0;
    const std::deque<Recorded> together = run_together(options, preemptions);
    for (std::uint32_t i = 0; i < kNumRequests; ++i) {
      BOOST_TEST(same_tokens(together[i], alone[i]),
                 company.name << ": request " << i << " differs");
    }
    std::cout << company.name << ": " << preemptions << " preemptions\n";
    if (company.pages > 0) BOOST_TEST(preemptions > 10U);
  }
}

}  // namespace
