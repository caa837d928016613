// C12: requests of all kinds of settings in one batch get what they get alone.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/real_model.hpp"
#include "tests/support/recorded.hpp"

namespace tickertape::test {
namespace {

/// Bit by bit of `which`: greedy or not, logprobs, a bias, penalties.
Request mixed_request(std::uint32_t which) {
  Request request;
  request.prompt = "A story about number " + std::to_string(which) + ":";
  request.max_tokens = 12;
  request.sampling.ignore_eos = true;
  request.sampling.seed = 100 + which;
  request.sampling.temperature = (which & 1) != 0 ? 0.9 : 0;
  if ((which & 2) != 0) request.sampling.logprobs = static_cast<std::int32_t>(which % 5);
  if ((which & 4) != 0) request.sampling.logit_bias = {{28, -100}, {253, 2.5F}};
  if ((which & 8) != 0) {
    request.sampling.frequency_penalty = 0.6;
    request.sampling.presence_penalty = -0.2;
    request.sampling.repetition_penalty = 1.2;
    request.sampling.typical_p = 0.9;
  }
  return request;
}

BOOST_AUTO_TEST_CASE(c12_every_row_has_its_own_settings) {
  constexpr std::uint32_t kNumRequests = 16;
  EngineOptions options = small_pool();
  options.max_num_seqs = kNumRequests;
  Engine engine(real_model(), options);
  std::vector<Recorded> alone;
  std::vector<std::pair<std::uint32_t, Request>> order;
  for (std::uint32_t which = 0; which < kNumRequests; ++which) {
    order.emplace_back(which, mixed_request(which));
    alone.push_back(record_alone(engine, order.back().second));
    BOOST_TEST_REQUIRE(alone.back().ids().size() == 12U);
    BOOST_TEST(alone.back().tokens().front().logprob.has_value() == ((which & 2) != 0));
  }
  std::mt19937 random(3);
  for (int round = 0; round < 5; ++round) {
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random() % i]);
    std::vector<Request> requests;
    for (const auto& [which, request] : order) requests.push_back(request);
    const auto together = record_together(engine, requests);
    for (std::size_t i = 0; i < order.size(); ++i) {
      BOOST_TEST(same_tokens(together[i], alone[order[i].first]),
                 "request " << order[i].first << " differs in round " << round);
    }
  }
}

}  // namespace
}  // namespace tickertape::test
