// sample_token: filters against a naive reference, the distribution, edges.
#include "kernels/sampling/sampler.hpp"

#include <algorithm>
#include <array>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "kernels/sampling/philox.hpp"
#include "tests/unit/sampling/rows.hpp"

using namespace tickertape;
using namespace tickertape::kernels::sampling;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

SamplingParams make_params(double temperature, std::int32_t top_k = 0, double top_p = 1,
                           double min_p = 0, double typical_p = 1) {
  SamplingParams params;
  params.temperature = temperature;
  params.top_k = top_k;
  params.top_p = top_p;
  params.min_p = min_p;
  params.typical_p = typical_p;
  return params;
}

/// Locally typical sampling as its definition says: nearness of -log p to the entropy. Ids come in
/// falling order of weight, and go so.
template <class Weight>
void keep_typical(std::vector<std::size_t>& order, Weight weight, double mass) {
  std::erase_if(order, [&](std::size_t id) { return weight(id) < 1e-10; });
  double total = 0;
  for (const std::size_t id : order) total += weight(id);
  double entropy = 0;
  for (const std::size_t id : order) {
    const double p = weight(id) / total;
    entropy -= p * std::log(p);
  }
  std::vector<std::size_t> typical = order;
  const auto distance = [&](std::size_t id) {
    return std::abs(-std::log(weight(id) / total) - entropy);
  };
  std::sort(typical.begin(), typical.end(), [&](std::size_t a, std::size_t b) {
    return distance(a) != distance(b) ? distance(a) < distance(b) : a < b;
  });
  double sum = 0;
  std::size_t kept = 0;
  while (kept < typical.size() && (kept == 0 || sum < mass * total)) sum += weight(typical[kept++]);
  typical.resize(kept);
  std::erase_if(order, [&](std::size_t id) {
    return std::find(typical.begin(), typical.end(), id) == typical.end();
  });
}

/// The filters as their definitions say, by sorting everything: a probability per id.
std::vector<double> naive_distribution(std::span<const float> row, const SamplingParams& params) {
  std::vector<std::size_t> order(row.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return row[a] != row[b] ? row[a] > row[b] : a < b;
  });
  const double max = row[order.front()];
  const auto weight = [&](std::size_t id) {
    return std::exp((row[id] - max) / params.temperature);
  };
  if (params.top_k > 0 && static_cast<std::size_t>(params.top_k) < order.size()) {
    order.resize(static_cast<std::size_t>(params.top_k));
  }
  if (params.typical_p < 1) keep_typical(order, weight, params.typical_p);
  if (params.top_p < 1) {
    double total = 0;
    for (const std::size_t id : order) total += weight(id);
    double sum = 0;
    std::size_t kept = 0;
    while (kept == 0 || sum < params.top_p * total) sum += weight(order[kept++]);
    order.resize(kept);
  }
  double best = 0;
  for (const std::size_t id : order) best = std::max(best, weight(id));
  std::erase_if(order, [&](std::size_t id) { return weight(id) < params.min_p * best; });
  std::vector<double> probabilities(row.size(), 0.0);
  double total = 0;
  for (const std::size_t id : order) total += weight(id);
  for (const std::size_t id : order) probabilities[id] = weight(id) / total;
  return probabilities;
}

/// The id where the running sum reaches u; -1 when u is too near a step to tell.
TokenId naive_draw(std::span<const double> probabilities, double u) {
  constexpr double kMargin = 1e-5;
  double sum = 0;
  for (std::size_t id = 0; id < probabilities.size(); ++id) {
    sum += probabilities[id];
    if (std::abs(sum - u) < kMargin && probabilities[id] > 0) return -1;
    if (sum >= u) return static_cast<TokenId>(id);
  }
  return -1;
}

TokenId sample(std::span<const float> row, const SamplingParams& params, std::uint64_t seed = 1,
               std::uint32_t choice = 0, std::uint64_t position = 0) {
  SamplerScratch scratch;
  const SampleResult result = sample_token(row, static_cast<std::uint32_t>(row.size()), params,
                                           seed, choice, position, scratch);
  BOOST_REQUIRE(!result.bad_numbers);
  return result.token;
}

/// sample_row for a sequence of `position` unknown tokens.
RowSample sample_masked(std::span<const float> row, const SamplingParams& params,
                        std::uint64_t seed, std::uint32_t position,
                        std::span<const std::uint64_t> mask, SamplerScratch& scratch) {
  OpenedSlot opened;
  opened.sampling = params;
  opened.seed = seed;
  return sample_row(row, static_cast<std::uint32_t>(row.size()), SlotSampling(opened, {}), position,
                    mask, scratch);
}

void check_against_naive(std::span<const float> row, const SamplingParams& params, int num_draws) {
  const std::vector<double> probabilities = naive_distribution(row, params);
  SamplerScratch scratch;
  int compared = 0;
  for (int i = 0; i < num_draws; ++i) {
    const auto position = static_cast<std::uint64_t>(i);
    const SampleResult result =
        sample_token(row, static_cast<std::uint32_t>(row.size()), params, 99, 3, position, scratch);
    BOOST_REQUIRE(!result.bad_numbers);
    BOOST_REQUIRE(probabilities[static_cast<std::size_t>(result.token)] > 0);
    const TokenId expected = naive_draw(probabilities, philox_uniform(99, 3, position));
    if (expected < 0) continue;
    BOOST_REQUIRE(result.token == expected);
    ++compared;
  }
  BOOST_TEST(compared > num_draws / 3);
}

template <class Draw>
void check_chi_square(std::span<const double> probabilities, int num_draws, Draw draw) {
  std::vector<int> counts(probabilities.size(), 0);
  for (int i = 0; i < num_draws; ++i) ++counts[static_cast<std::size_t>(draw(i))];
  double statistic = 0;
  for (std::size_t id = 0; id < counts.size(); ++id) {
    const double expected = probabilities[id] * num_draws;
    if (expected == 0) {
      BOOST_TEST(counts[id] == 0);
      continue;
    }
    statistic += (counts[id] - expected) * (counts[id] - expected) / expected;
  }
  // Beyond this with a probability of 1e-6 for 19 degrees of freedom.
  BOOST_TEST(statistic < 61.0);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(sampler)

BOOST_AUTO_TEST_CASE(draws_follow_the_distribution) {
  test::Rows rows(5);
  const std::vector<float> row = rows.logits(20, 1.2);
  SamplerScratch scratch;
  for (const SamplingParams& params : {make_params(1), make_params(0.7), make_params(2),
                                       make_params(1, 8), make_params(1, 0, 0.8)}) {
    const std::vector<double> probabilities = naive_distribution(row, params);
    check_chi_square(probabilities, 20000, [&](int i) {
      return sample_token(row, 20, params, 11, 0, static_cast<std::uint64_t>(i), scratch).token;
    });
    check_chi_square(probabilities, 20000, [&](int i) {
      return sample_token(row, 20, params, static_cast<std::uint64_t>(i), 0, 5, scratch).token;
    });
    check_chi_square(probabilities, 20000, [&](int i) {
      return sample_token(row, 20, params, 11, static_cast<std::uint32_t>(i), 5, scratch).token;
    });
  }
}

BOOST_AUTO_TEST_CASE(filters_equal_the_naive_reference) {
  test::Rows rows(6);
  for (const std::size_t size : {1U, 2U, 50U, 255U, 256U, 257U, 1000U}) {
    for (const double spread : {0.3, 2.0, 6.0}) {
      const std::vector<float> row = rows.logits(size, spread);
      for (const std::int32_t top_k : {0, -1, 1, 2, 40, 1000, 1000000000}) {
        for (const double top_p : {1.0, 0.95, 0.5, 0.01}) {
          for (const double min_p : {0.0, 0.05, 0.6, 1.0}) {
            check_against_naive(row, make_params(0.9, top_k, top_p, min_p), 30);
          }
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(typical_filter_equals_the_naive_reference_between_the_others) {
  test::Rows rows(12);
  for (const std::size_t size : {1U, 2U, 50U, 255U, 700U}) {
    for (const double spread : {0.3, 2.0, 6.0}) {
      std::vector<float> row = rows.logits(size, spread);
      if (size > 20) row[3] = row[11] = -kInfinity;
      for (const double typical_p : {0.0, 0.2, 0.5, 0.9, 0.99}) {
        for (const SamplingParams& params :
             {make_params(0.9, 0, 1, 0, typical_p), make_params(1.3, 40, 1, 0, typical_p),
              make_params(0.9, 0, 0.7, 0, typical_p), make_params(0.9, 30, 0.7, 0.2, typical_p),
              make_params(0.9, 0, 1, 0.3, typical_p), make_params(0.9, 0, 0, 0, typical_p)}) {
          check_against_naive(row, params, 30);
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(typical_may_leave_the_best_token_out) {
  // One likely token among many of much surprise: the entropy is nearer to theirs.
  std::vector<float> row(1000, 0);
  row[0] = 5.5F;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    BOOST_TEST(sample(row, make_params(1, 0, 1, 0, 0.5), seed) > 0);
    BOOST_TEST(sample(row, make_params(1, 1, 1, 0, 0.5), seed) == 0);
  }
  BOOST_TEST(sample(row, make_params(0, 0, 1, 0, 0.5)) == 0);
}

BOOST_AUTO_TEST_CASE(filters_equal_the_naive_reference_on_a_real_vocabulary) {
  test::Rows rows(7);
  constexpr std::size_t kVocabSize = 49152;
  for (const double spread : {0.0, 1.0, 4.0}) {
    const std::vector<float> row = rows.logits(kVocabSize, spread);
    for (const SamplingParams& params :
         {make_params(1), make_params(1, 50), make_params(1, 0, 0.9), make_params(1, 0, 0.999999),
          make_params(1, 0, 1, 0.02), make_params(0.8, 20000, 0.9, 0.001),
          make_params(1.5, 0, 0.7, 0.001)}) {
      const std::vector<double> probabilities = naive_distribution(row, params);
      SamplerScratch scratch;
      for (std::uint64_t position = 0; position < 20; ++position) {
        const auto token = static_cast<std::size_t>(
            sample_token(row, kVocabSize, params, 5, 0, position, scratch).token);
        const double u = philox_uniform(5, 0, position);
        const double upper =
            std::accumulate(probabilities.begin(), probabilities.begin() + token + 1, 0.0);
        // The step of the running sum that u lies on, but for rounding.
        BOOST_TEST(u <= upper + 1e-5);
        BOOST_TEST(u > upper - probabilities[token] - 1e-5);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(cut_among_ties_keeps_the_lower_ids) {
  // Ids 10..19 tie behind one better token.
  std::vector<float> row(100, -20);
  row[50] = 1;
  for (std::size_t i = 10; i < 20; ++i) row[i] = 0;
  std::map<TokenId, int> seen;
  for (std::uint64_t i = 0; i < 2000; ++i) ++seen[sample(row, make_params(1, 4), i)];
  BOOST_TEST(seen.size() == 4U);
  for (const TokenId token : {50, 10, 11, 12}) BOOST_TEST(seen[token] > 0);

  // The mass of the best and two and a bit of the others.
  const double total = std::exp(1) + 10 + 89 * std::exp(-20);
  seen.clear();
  const SamplingParams top_p = make_params(1, 0, (std::exp(1) + 2.5) / total);
  for (std::uint64_t i = 0; i < 2000; ++i) ++seen[sample(row, top_p, i)];
  BOOST_TEST(seen.size() == 4U);
  for (const TokenId token : {50, 10, 11, 12}) BOOST_TEST(seen[token] > 0);
}

BOOST_AUTO_TEST_CASE(tiny_temperatures_take_the_best_token) {
  test::Rows rows(8);
  for (int i = 0; i < 50; ++i) {
    std::vector<float> row = rows.logits(300, 2);
    const std::size_t best = rows.below(300);
    row[best] = 12;
    for (const double temperature : {0.0, -0.0, 1e-320, 1e-45, 1e-39, 1e-38, 1e-8, 1e-4, 0.01}) {
      BOOST_TEST(sample(row, make_params(temperature), 3) == static_cast<TokenId>(best));
    }
  }
}

BOOST_AUTO_TEST_CASE(greedy_takes_the_lowest_id_of_ties) {
  const std::vector<float> row{-1, 3, 0, 3, 3};
  for (const double temperature : {0.0, -0.0, 1e-45}) {
    BOOST_TEST(sample(row, make_params(temperature)) == 1);
  }
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    BOOST_TEST(sample(row, make_params(1, 1), seed) == 1);
    BOOST_TEST(sample(row, make_params(1, 0, 0), seed) == 1);
    BOOST_TEST(sample(row, make_params(1, 0, 1e-9), seed) == 1);
  }
}

BOOST_AUTO_TEST_CASE(minus_zero_ties_with_zero) {
  BOOST_TEST(sample(std::vector<float>{-1.0F, -0.0F, 0.0F}, make_params(0)) == 1);
}

BOOST_AUTO_TEST_CASE(high_temperatures_flatten) {
  const std::vector<float> row{4, 0, 2};
  std::array<int, 3> counts{};
  for (std::uint64_t i = 0; i < 3000; ++i) {
    ++counts[static_cast<std::size_t>(sample(row, make_params(2), i))];
  }
  // Weights 1, e^-2, e^-1.
  BOOST_TEST(counts[0] < 2200);
  BOOST_TEST(counts[1] > 180);
  BOOST_TEST(counts[2] > 600);
}

BOOST_AUTO_TEST_CASE(tokens_of_weight_zero_are_never_drawn) {
  std::vector<float> row(1000, -kInfinity);
  row[400] = 0;
  row[401] = -100;
  row[999] = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    for (const SamplingParams& params : {make_params(1), make_params(1, 500),
                                         make_params(1, 0, 0.999999), make_params(1, 0, 1, 0.5)}) {
      const TokenId token = sample(row, params, seed);
      BOOST_TEST((token == 400 || token == 999));
    }
  }
}

BOOST_AUTO_TEST_CASE(bad_numbers_are_told) {
  SamplerScratch scratch;
  for (const double temperature : {0.0, 1.0}) {
    for (const float bad : {kNan, -kNan, kInfinity}) {
      for (std::size_t place = 0; place < 40; ++place) {
        std::vector<float> row(40, 0);
        row[place] = bad;
        const SampleResult result =
            sample_token(row, 40, make_params(temperature), 1, 0, 0, scratch);
        BOOST_TEST(result.bad_numbers);
        BOOST_TEST(result.token == -1);
        BOOST_TEST(has_bad_numbers(row, 40));
      }
    }
    const std::vector<float> nothing(40, -kInfinity);
    BOOST_TEST(sample_token(nothing, 40, make_params(temperature), 1, 0, 0, scratch).bad_numbers);
    BOOST_TEST(has_bad_numbers(nothing, 40));
  }
}

BOOST_AUTO_TEST_CASE(ids_beyond_the_vocabulary_do_not_count) {
  std::vector<float> row(64, 0);
  for (std::size_t i = 50; i < 64; ++i) row[i] = 100;
  row[60] = kNan;
  SamplerScratch scratch;
  BOOST_TEST(!has_bad_numbers(row, 50));
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    for (const SamplingParams& params :
         {make_params(0), make_params(1), make_params(1, 5), make_params(1, 0, 0.9)}) {
      const SampleResult result = sample_token(row, 50, params, seed, 0, 0, scratch);
      BOOST_TEST(!result.bad_numbers);
      BOOST_TEST(result.token < 50);
    }
  }
}

BOOST_AUTO_TEST_CASE(mask_allows_only_its_tokens) {
  test::Rows rows(9);
  const std::vector<float> row = rows.logits(200, 2);
  std::vector<std::uint64_t> mask(4, 0);
  std::vector<float> masked(row.size(), -kInfinity);
  for (const std::size_t id : {0U, 63U, 64U, 130U, 199U}) {
    mask[id / 64] |= 1ULL << (id % 64);
    masked[id] = row[id];
  }
  SamplerScratch scratch;
  for (const SamplingParams& params :
       {make_params(0), make_params(1), make_params(1, 3), make_params(1, 100),
        make_params(1, 0, 0.7), make_params(1, 0, 1, 0.3)}) {
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
      BOOST_TEST(sample_masked(row, params, seed, 0, mask, scratch).token ==
                 sample(masked, params, seed));
    }
  }
  const std::vector<std::uint64_t> none(4, 0);
  const RowSample impossible = sample_masked(row, make_params(1), 1, 0, none, scratch);
  BOOST_TEST(impossible.token == -1);
  BOOST_TEST(!impossible.bad_numbers);
  BOOST_TEST(impossible.fault.starts_with("no token is possible"));
  std::vector<std::uint64_t> single(4, 0);
  single[2] = 1;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    BOOST_TEST(sample_masked(row, make_params(2), seed, 0, single, scratch).token == 128);
  }
}

BOOST_AUTO_TEST_CASE(what_the_scratch_held_does_not_matter) {
  test::Rows rows(10);
  SamplerScratch used;
  PositionLogprobs ignored;
  std::vector<TokenLogprob> top;
  for (int i = 0; i < 300; ++i) {
    const std::uint32_t size = 1 + rows.below(700);
    const std::vector<float> row = rows.logits(size, 2, i % 2 == 0 ? 0.0 : 0.5);
    const SamplingParams params = make_params(
        0.5 + rows.uniform(), static_cast<std::int32_t>(rows.below(60)), 0.3 + 0.7 * rows.uniform(),
        i % 3 == 0 ? 0.1 : 0.0, i % 4 == 0 ? rows.uniform() : 1.0);
    const std::vector<std::uint64_t> mask(11, 0xF0F0F0F0F0F0F0F1ULL);
    const auto number = static_cast<std::uint32_t>(i);
    const std::span<const std::uint64_t> used_mask =
        i % 5 == 0 ? std::span(mask) : std::span<const std::uint64_t>{};
    SamplerScratch fresh;
    const TokenId token = sample_masked(row, params, 1, number, used_mask, used).token;
    BOOST_TEST(token == sample_masked(row, params, 1, number, used_mask, fresh).token);
    position_logprobs(row, size, token, 5, used, ignored, top);
  }
}

BOOST_AUTO_TEST_CASE(top_p_cuts_what_top_k_left) {
  // top_p cuts what top_k left: of four equal tokens the first three reach 60 %.
  const std::vector<float> row{0, 0, 0, 0, 0, 0, 0, 0};
  std::map<TokenId, int> seen;
  for (std::uint64_t i = 0; i < 500; ++i) ++seen[sample(row, make_params(1, 4, 0.6), i)];
  BOOST_TEST(seen.size() == 3U);
  BOOST_TEST((seen.begin()->first == 0 && seen.rbegin()->first == 2));
}

BOOST_AUTO_TEST_SUITE_END()
