// C08: penalties count the right tokens: generated ones, the prompt's only for repetition_penalty,
// each choice its own.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "tests/support/real_model.hpp"
#include "tests/support/recorded.hpp"

namespace tickertape::test {
namespace {

Request paris(std::uint32_t max_tokens, int times = 4) {
  Request request;
  request.prompt = "Paris";
  for (int i = 1; i < times; ++i) request.prompt += " Paris";
  request.max_tokens = max_tokens;
  request.sampling.temperature = 0;
  request.sampling.ignore_eos = true;
  request.sampling.logprobs = 20;
  return request;
}

float logprob_of(const Token& token, TokenId id) {
  const auto found = std::find_if(token.top_logprobs.begin(), token.top_logprobs.end(),
                                  [&](const TokenLogprob& entry) { return entry.token == id; });
  BOOST_REQUIRE(found != token.top_logprobs.end());
  return found->logprob;
}

std::size_t most_repeated(const std::vector<TokenId>& ids) {
  std::map<TokenId, std::size_t> counts;
  std::size_t most = 0;
  for (const TokenId id : ids) most = std::max(most, ++counts[id]);
  return most;
}

BOOST_AUTO_TEST_CASE(c08_the_prompt_counts_for_repetition_only) {
  Engine engine(real_model(), small_pool());
  const Recorded plain = record_alone(engine, paris(1));
  Request request = paris(1);
  request.sampling.presence_penalty = 2;
  request.sampling.frequency_penalty = 2;
  BOOST_TEST(same_tokens(record_alone(engine, request), plain));
  request = paris(1);
  request.sampling.repetition_penalty = 1.5;
  BOOST_TEST(!same_tokens(record_alone(engine, request), plain));
}

/// Both runs are made to choose the same first token, so that the second step differs by the
/// penalty only.
BOOST_AUTO_TEST_CASE(c08_a_penalty_takes_off_what_it_says) {
  Engine engine(real_model(), small_pool());
  Request request = paris(2);
  const TokenId first = record_alone(engine, request).ids().front();
  request.sampling.logit_bias = {{first, 15}};
  const Recorded plain = record_alone(engine, request);
  BOOST_TEST_REQUIRE(plain.ids().front() == first);
  const auto gap = [&](const Recorded& recorded) {
    const std::vector<TokenLogprob>& top = plain.tokens()[1].top_logprobs;
    const TokenId other = top[top[0].token == first ? 1 : 0].token;
    return logprob_of(recorded.tokens()[1], first) - logprob_of(recorded.tokens()[1], other);
  };
  for (const double penalty : {2.0, 0.75}) {
    Request penalised = request;
    penalised.sampling.frequency_penalty = penalty;
    BOOST_TEST(std::abs(gap(plain) - gap(record_alone(engine, penalised)) - penalty) < 1e-4);
    penalised.sampling.presence_penalty = 0.5;
    BOOST_TEST(std::abs(gap(plain) - gap(record_alone(engine, penalised)) - penalty - 0.5) < 1e-4);
  }
}

BOOST_AUTO_TEST_CASE(c08_a_frequency_penalty_stops_repeating) {
  Engine engine(real_model(), small_pool());
  // A prompt that the model goes on repeating.
  Request request = paris(40, 40);
  const std::size_t plain = most_repeated(record_alone(engine, request).ids());
  request.sampling.frequency_penalty = 2;
  const Recorded penalised = record_alone(engine, request);
  BOOST_TEST(plain >= 10U);
  BOOST_TEST(most_repeated(penalised.ids()) * 2 < plain);
  // Choices do not share their counts: greedy ones are equal.
  request.n = 2;
  const Recorded both = record_alone(engine, request);
  BOOST_TEST_REQUIRE(both.choices.size() == 2U);
  BOOST_TEST(same_tokens(both.tokens(0), penalised.tokens()));
  BOOST_TEST(same_tokens(both.tokens(1), penalised.tokens()));
}

BOOST_AUTO_TEST_CASE(c08_preemption_changes_nothing) {
  std::vector<Request> requests;
  for (std::uint64_t i = 0; i < 8; ++i) {
    Request request = paris(40);
    request.prompt += std::string(" and") + std::string(i, '!');
    request.sampling.frequency_penalty = 0.2 * static_cast<double>(i);
    request.sampling.repetition_penalty = 1.1;
    request.sampling.temperature = i % 2 == 0 ? 0 : 0.8;
    request.sampling.seed = i;
    requests.push_back(request);
  }
  std::vector<Recorded> alone;
  {
    Engine engine(real_model(), small_pool());
    for (const Request& request : requests) alone.push_back(record_alone(engine, request));
  }
  EngineOptions options = small_pool();
  options.num_kv_pages = 12;
  Engine engine(real_model(), options);
  const auto together = record_together(engine, requests);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    BOOST_TEST(same_tokens(together[i], alone[i]), "request " << i << " differs");
  }
  BOOST_TEST(idle_stats(engine).preemptions > 0U);
}

}  // namespace
}  // namespace tickertape::test
