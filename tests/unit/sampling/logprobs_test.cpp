// position_logprobs against a softmax that sorts everything.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>

#include "kernels/sampling/sampler.hpp"
#include "tests/unit/sampling/rows.hpp"

using namespace tickertape;
using namespace tickertape::kernels::sampling;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<TokenLogprob> naive_top(std::span<const float> row) {
  double sum = 0;
  const double max = *std::max_element(row.begin(), row.end());
  for (const float logit : row) sum += std::exp(logit - max);
  std::vector<TokenLogprob> all;
  for (std::size_t i = 0; i < row.size(); ++i) {
    const double logprob = row[i] - max - std::log(sum);
    all.push_back({static_cast<TokenId>(i),
                   static_cast<float>(std::max(logprob, static_cast<double>(kLogprobFloor)))});
  }
  std::sort(all.begin(), all.end(), [](const TokenLogprob& a, const TokenLogprob& b) {
    return a.logprob != b.logprob ? a.logprob > b.logprob : a.token < b.token;
  });
  return all;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(logprobs)

BOOST_AUTO_TEST_CASE(equal_the_naive_softmax) {
  test::Rows rows(4);
  SamplerScratch scratch;
  for (const std::uint32_t size : {1U, 2U, 100U, 5000U}) {
    for (const double step : {0.0, 0.5}) {
      std::vector<float> row = rows.logits(size, 4, step);
      const std::vector<TokenLogprob> expected = naive_top(row);
      row.push_back(1000);  // Beyond the vocabulary.
      const auto chosen = static_cast<TokenId>(rows.below(size));
      PositionLogprobs out;
      std::vector<TokenLogprob> top(3);
      position_logprobs(row, size, chosen, 20, scratch, out, top);
      const auto found = std::find_if(expected.begin(), expected.end(),
                                      [&](const auto& entry) { return entry.token == chosen; });
      BOOST_TEST((out.chosen == *found));
      BOOST_TEST(out.first_top == 3U);
      BOOST_REQUIRE(out.num_top == std::min(size, 20U));
      BOOST_REQUIRE(top.size() == 3U + out.num_top);
      for (std::size_t i = 0; i < out.num_top; ++i) BOOST_TEST((top[3 + i] == expected[i]));
    }
  }
}

BOOST_AUTO_TEST_CASE(only_the_chosen_one_when_zero_are_asked_for) {
  const std::vector<float> row{1, 2, 3};
  SamplerScratch scratch;
  PositionLogprobs out;
  std::vector<TokenLogprob> top;
  position_logprobs(row, 3, 0, 0, scratch, out, top);
  BOOST_TEST(out.num_top == 0U);
  BOOST_TEST(top.empty());
  BOOST_TEST(std::abs(out.chosen.logprob - -2.4076059F) < 1e-6F);
}

BOOST_AUTO_TEST_CASE(impossible_tokens_stand_at_the_floor) {
  const std::vector<float> row{-kInfinity, 0, -3e38F, -kInfinity};
  SamplerScratch scratch;
  PositionLogprobs out;
  std::vector<TokenLogprob> top;
  position_logprobs(row, 4, 3, 4, scratch, out, top);
  BOOST_TEST(out.chosen.logprob == kLogprobFloor);
  BOOST_REQUIRE(top.size() == 4U);
  BOOST_TEST((top[0] == TokenLogprob{1, 0}));
  for (std::size_t i = 1; i < 4; ++i) BOOST_TEST(top[i].logprob == kLogprobFloor);
  BOOST_TEST(top[1].token == 0);
  BOOST_TEST(top[2].token == 2);
  BOOST_TEST(top[3].token == 3);
}

BOOST_AUTO_TEST_CASE(huge_logits_do_not_overflow) {
  const std::vector<float> row{3e38F, 3e38F, -3e38F};
  SamplerScratch scratch;
  PositionLogprobs out;
  std::vector<TokenLogprob> top;
  position_logprobs(row, 3, 1, 2, scratch, out, top);
  BOOST_TEST(std::abs(out.chosen.logprob - std::log(0.5F)) < 1e-6F);
  BOOST_TEST(top[0].token == 0);
}

BOOST_AUTO_TEST_SUITE_END()
