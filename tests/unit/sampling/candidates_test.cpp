// Weights and the selections among candidates, against sorting everything.
#include "kernels/sampling/candidates.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>

#include "kernels/sampling/mass_cut.hpp"
#include "kernels/sampling/weights.hpp"
#include "tests/unit/sampling/rows.hpp"

using namespace tickertape;
using namespace tickertape::kernels::sampling;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<Candidate> sorted_candidates(std::span<const float> logits) {
  std::vector<Candidate> all;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    all.push_back({logits[i], 0, static_cast<TokenId>(i)});
  }
  std::sort(all.begin(), all.end(), BetterFirst{});
  return all;
}

std::vector<TokenId> sorted_tokens(std::span<const Candidate> candidates) {
  std::vector<TokenId> tokens;
  for (const Candidate& candidate : candidates) tokens.push_back(candidate.token);
  std::sort(tokens.begin(), tokens.end());
  return tokens;
}

template <class Less>
void check_select_mass(std::vector<Candidate> candidates, double mass, Less less) {
  std::vector<Candidate> reference = candidates;
  std::sort(reference.begin(), reference.end(), less);
  double sum = 0;
  std::size_t size = 0;
  while (size < reference.size() && (size == 0 || sum < mass)) sum += reference[size++].weight;
  reference.resize(size);

  const std::size_t selected = select_mass(candidates, mass, less);
  BOOST_REQUIRE(selected == size);
  BOOST_TEST(candidates[selected - 1].token == reference.back().token);
  candidates.resize(selected);
  BOOST_TEST(sorted_tokens(candidates) == sorted_tokens(reference));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(candidates)

BOOST_AUTO_TEST_CASE(find_best_equals_sorting) {
  test::Rows rows(1);
  std::vector<Candidate> best;
  for (const std::size_t size : {1U, 2U, 63U, 64U, 65U, 500U, 3000U}) {
    for (const double step : {0.0, 0.5, 100.0}) {
      std::vector<float> row = rows.logits(size, 3, step);
      if (size > 10) row[7] = -kInfinity;
      const std::vector<Candidate> all = sorted_candidates(row);
      for (const std::size_t count : {1U, 2U, 7U, 50U, 499U, 2999U, 100000U}) {
        find_best(row, count, best);
        const std::size_t expected = std::min(count, size);
        BOOST_REQUIRE(best.size() == expected);
        BOOST_TEST(sorted_tokens(best) == sorted_tokens(std::span(all).first(expected)));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(find_best_on_rising_and_falling_rows) {
  std::vector<float> row(1000);
  std::vector<Candidate> best;
  for (std::size_t i = 0; i < row.size(); ++i) row[i] = static_cast<float>(i);
  find_best(row, 3, best);
  BOOST_TEST(sorted_tokens(best) == (std::vector<TokenId>{997, 998, 999}));
  std::reverse(row.begin(), row.end());
  find_best(row, 3, best);
  BOOST_TEST(sorted_tokens(best) == (std::vector<TokenId>{0, 1, 2}));
}

BOOST_AUTO_TEST_CASE(select_mass_equals_sorting) {
  test::Rows rows(2);
  for (const std::size_t size : {1U, 2U, 31U, 33U, 100U, 2000U}) {
    const std::vector<float> row = rows.logits(size, 2, 0.25);
    std::vector<Candidate> some = sorted_candidates(row);
    double total = 0;
    for (Candidate& candidate : some) {
      candidate.weight = std::ldexp(static_cast<float>(rows.below(1000)), -20);
      total += candidate.weight;
    }
    for (const double share : {0.0, 1e-9, 0.1, 0.5, 0.9, 0.999, 1.0, 1.5}) {
      check_select_mass(some, share * total, BetterFirst{});
      check_select_mass(some, share * total, LowerIdFirst{});
    }
  }
}

BOOST_AUTO_TEST_CASE(cuts_of_a_row_equal_sorting) {
  test::Rows rows(4);
  std::vector<Candidate> scratch;
  for (const std::size_t size : {1U, 2U, 31U, 300U, 5000U}) {
    for (const double step : {0.0, 0.25, 100.0}) {
      const std::vector<float> scores = rows.logits(size, 2, step);
      std::vector<float> weights(size);
      for (float& weight : weights) weight = std::ldexp(static_cast<float>(rows.below(1000)), -20);
      weights[size / 2] = 1;
      for (const float bound : {0.0F, 1e-4F}) {
        std::vector<Candidate> all;
        double total = 0;
        for (std::size_t i = 0; i < size; ++i) {
          if (!(weights[i] > bound)) continue;
          all.push_back({scores[i], weights[i], static_cast<TokenId>(i)});
          total += weights[i];
        }
        for (const double share : {0.0, 1e-9, 0.1, 0.5, 0.9, 0.999, 1.0}) {
          const MassCut cut = find_cut(scores, weights, share * total, bound, scratch);
          std::vector<float> left = weights;
          apply_cut(scores, cut, bound, left);
          std::vector<Candidate> kept = all;
          kept.resize(select_mass(kept, share * total, BetterFirst{}));
          std::vector<float> expected(size, 0.0F);
          for (const Candidate& c : kept) expected[static_cast<std::size_t>(c.token)] = c.weight;
          BOOST_TEST((left == expected));
          BOOST_TEST(cut.token == kept.back().token);
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(weights_are_exponentials_in_quanta) {
  test::Rows rows(3);
  std::vector<float> row = rows.logits(1000, 8);
  row[5] = -kInfinity;
  row[6] = -3e38F;
  const float max = find_range(row).max;
  std::vector<float> weights(row.size());
  std::vector<double> sums((row.size() + kBlockSize - 1) / kBlockSize);
  for (const double inverse_temperature : {1.0, 0.5, 3.0, 1e10, 1e300}) {
    const double total = compute_weights(row, max, inverse_temperature, 0, weights, sums);
    double sum = 0;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const double distance = static_cast<double>(row[i]) - static_cast<double>(max);
      const double expected = distance == 0 ? 1 : std::exp(distance * inverse_temperature);
      const double quantum = kWeightQuantum;
      BOOST_TEST(std::abs(weights[i] - expected) <= 5e-6 * expected + quantum);
      BOOST_TEST(std::fmod(weights[i], quantum) == 0);
      sum += weights[i];
    }
    BOOST_TEST(sum == total);
  }
}

BOOST_AUTO_TEST_CASE(weights_below_the_bound_become_zero) {
  const std::vector<float> row{0, -1, -2, -3};
  std::vector<float> weights(4);
  std::vector<double> sums(1);
  const double total = compute_weights(row, 0, 1, 0.2F, weights, sums);
  BOOST_TEST(weights[0] == 1);
  BOOST_TEST(weights[1] > 0.36F);
  BOOST_TEST(weights[2] == 0);
  BOOST_TEST(weights[3] == 0);
  BOOST_TEST(total == static_cast<double>(weights[0]) + weights[1]);
}

BOOST_AUTO_TEST_CASE(range_finds_maximum_and_bad_numbers_at_every_place) {
  for (const std::size_t size : {1U, 15U, 16U, 17U, 40U}) {
    for (std::size_t place = 0; place < size; ++place) {
      std::vector<float> row(size, -5);
      row[place] = 2;
      BOOST_TEST(find_range(row).max == 2);
      BOOST_TEST(!find_range(row).bad_numbers);
      BOOST_TEST(find_first(row, 2) == place);
      BOOST_TEST(any_above(row, 1.5F));
      BOOST_TEST(!any_above(row, 2));
      for (const float bad : {std::numeric_limits<float>::quiet_NaN(),
                              -std::numeric_limits<float>::quiet_NaN(), kInfinity}) {
        row[place] = bad;
        BOOST_TEST(find_range(row).bad_numbers);
      }
      row[place] = -kInfinity;
      BOOST_TEST(!find_range(row).bad_numbers);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
