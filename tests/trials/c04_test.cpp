// C04: the edges of top_p, top_k and min_p.
#include <boost/test/unit_test.hpp>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "tests/support/real_model.hpp"
#include "tests/support/recorded.hpp"

namespace tickertape::test {
namespace {

Request start(const std::function<void(SamplingParams&)>& change) {
  Request request;
  request.prompt = "The largest planet of the solar system is";
  request.max_tokens = 6;
  request.sampling.seed = 5;
  request.sampling.ignore_eos = true;
  change(request.sampling);
  return request;
}

BOOST_AUTO_TEST_CASE(c04_filters_at_their_edges) {
  Engine engine(real_model(), small_pool());
  const auto ids = [&](const std::function<void(SamplingParams&)>& change) {
    const Recorded recorded = record_alone(engine, start(change));
    BOOST_TEST_REQUIRE(recorded.ids().size() == 6U, recorded.finish.error.message);
    return recorded.ids();
  };
  const auto greedy = ids([](auto& p) { p.temperature = 0; });
  const auto plain = ids([](auto&) {});
  // Down to one token, and up to all of them.
  BOOST_TEST(ids([](auto& p) { p.top_p = 0; }) == greedy);
  BOOST_TEST(ids([](auto& p) { p.top_p = 1e-9; }) == greedy);
  BOOST_TEST(ids([](auto& p) { p.top_k = 1; }) == greedy);
  BOOST_TEST(ids([](auto& p) { p.min_p = 1; }) == greedy);
  BOOST_TEST(ids([](auto& p) { p.top_p = 1; }) == plain);
  BOOST_TEST(ids([](auto& p) { p.top_k = 0; }) == plain);
  BOOST_TEST(ids([](auto& p) { p.top_k = -1; }) == plain);
  BOOST_TEST(ids([](auto& p) { p.top_k = 49152; }) == plain);
  BOOST_TEST(ids([](auto& p) { p.top_k = 1000000000; }) == plain);
  BOOST_TEST(ids([](auto& p) { p.min_p = 0; }) == plain);
  BOOST_TEST(ids([](auto& p) { p.typical_p = 1; }) == plain);
  static_cast<void>(ids([](auto& p) { p.top_p = 0.999999; }));
  static_cast<void>(ids([](auto& p) { p.typical_p = 0; }));
  BOOST_TEST(idle_stats(engine).num_running == 0U);
}

BOOST_AUTO_TEST_CASE(c04_values_out_of_range_are_refused_by_name) {
  Engine engine(real_model(), small_pool());
  const auto check = [&](const std::string& param,
                         const std::function<void(SamplingParams&)>& change) {
    const Recorded recorded = record_alone(engine, start(change));
    BOOST_TEST((recorded.finish.error.code == Errc::invalid_request));
    BOOST_TEST(recorded.finish.error.param == param);
  };
  check("top_p", [](auto& p) { p.top_p = 1.0001; });
  check("top_p", [](auto& p) { p.top_p = -0.1; });
  check("top_p", [](auto& p) { p.top_p = std::numeric_limits<double>::quiet_NaN(); });
  check("top_k", [](auto& p) { p.top_k = -2; });
  check("min_p", [](auto& p) { p.min_p = 1.1; });
  check("typical_p", [](auto& p) { p.typical_p = -0.5; });
}

BOOST_AUTO_TEST_CASE(c04_one_possible_token_is_always_that_one) {
  Engine engine(real_model(), small_pool());
  constexpr TokenId kOnly = 4321;
  std::vector<LogitBias> bans;
  for (TokenId token = 0; token < static_cast<TokenId>(real_model()->info().vocab_size); ++token) {
    if (token != kOnly) bans.push_back({token, -100});
  }
  const std::vector<TokenId> expected(6, kOnly);
  for (const double top_p : {0.0, 0.5, 0.999999, 1.0}) {
    for (const double min_p : {0.0, 1.0}) {
      for (const double typical_p : {0.0, 1.0}) {
        const Recorded allowed = record_alone(engine, start([&](SamplingParams& p) {
                                                p.top_p = top_p;
                                                p.min_p = min_p;
                                                p.typical_p = typical_p;
                                                p.allowed_token_ids = {kOnly};
                                                p.logprobs = 2;
                                              }));
        BOOST_TEST(allowed.ids() == expected);
        BOOST_TEST(allowed.tokens().front().logprob.value() == 0.0F);
        BOOST_TEST(allowed.tokens().front().top_logprobs.at(1).logprob == kLogprobFloor);
      }
    }
    const Recorded banned = record_alone(engine, start([&](SamplingParams& p) {
                                           p.top_p = top_p;
                                           p.logit_bias = bans;
                                         }));
    BOOST_TEST(banned.ids() == expected);
  }
}

}  // namespace
}  // namespace tickertape::test
