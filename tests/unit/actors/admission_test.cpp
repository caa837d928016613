// The admission policies, and the predicted one against the same sums in floating point.
#include "actors/admission.hpp"

#include <rapidcheck.h>
#include <array>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include <tickertape/errors.hpp>

#include "actors/normal_quantile.hpp"

namespace {

using namespace tickertape;
using namespace tickertape::actors;

/// Answers end with the same chance at each token, on average after `mean` of them.
class Exponential final : public LengthForecast {
 public:
  explicit Exponential(double mean) : mean_(mean) {}

  void survival(const SequenceView& sequence, std::span<const std::uint32_t> further,
                std::span<std::uint32_t> out) const override {
    for (std::size_t i = 0; i < further.size(); ++i) {
      const bool may_be = sequence.num_tokens + further[i] < sequence.max_tokens;
      out[i] =
          may_be ? static_cast<std::uint32_t>(std::exp(-1.0 * further[i] / mean_) * kCertain) : 0;
    }
  }

 private:
  double mean_;
};

/// Everybody goes on to max_tokens.
class Endless final : public LengthForecast {
 public:
  void survival(const SequenceView& sequence, std::span<const std::uint32_t> further,
                std::span<std::uint32_t> out) const override {
    for (std::size_t i = 0; i < further.size(); ++i) {
      out[i] = sequence.num_tokens + further[i] < sequence.max_tokens ? kCertain : 0;
    }
  }
};

SequenceView view_of(std::uint32_t num_tokens, std::uint32_t max_tokens) {
  SequenceView view;
  view.prompt_tokens = num_tokens;
  view.num_tokens = num_tokens;
  view.max_tokens = max_tokens;
  return view;
}

PoolView pool_of(std::uint32_t num_pages, std::uint32_t num_free) {
  return {num_pages, num_free, 16, 1024};
}

bool admits(const AdmissionPolicy& policy, const SequenceView& candidate,
            const std::vector<SequenceView>& running, const PoolView& pool,
            const LengthForecast& forecast = Endless()) {
  return policy.admit({candidate, running, pool, forecast, 0});
}

BOOST_AUTO_TEST_SUITE(admission)

BOOST_AUTO_TEST_CASE(prompt_only_takes_what_fits_now) {
  const auto policy = prompt_only_admission();
  SequenceView candidate = view_of(33, 1000);
  BOOST_TEST(admits(*policy, candidate, {}, pool_of(10, 3)));
  BOOST_TEST(!admits(*policy, candidate, {}, pool_of(10, 2)));
  candidate.shareable = 1;
  BOOST_TEST(admits(*policy, candidate, {}, pool_of(10, 2)));
  BOOST_TEST(policy->tokens_at_start(candidate, pool_of(10, 2)) == 33U);
  candidate.preemptions = 1;  // It comes back only with a page to go on with, or alone.
  BOOST_TEST(!admits(*policy, candidate, {view_of(5, 9)}, pool_of(10, 2)));
  BOOST_TEST(admits(*policy, candidate, {view_of(5, 9)}, pool_of(10, 3)));
  BOOST_TEST(admits(*policy, candidate, {}, pool_of(10, 2)));
}

BOOST_AUTO_TEST_CASE(reserve_counts_everybodys_last_token) {
  const auto policy = reserve_admission();
  const std::vector<SequenceView> running{view_of(10, 64), view_of(20, 33)};  // 4 and 3 pages.
  SequenceView candidate = view_of(16, 48);                                   // 3 pages.
  BOOST_TEST(admits(*policy, candidate, running, pool_of(10, 5)));
  BOOST_TEST(!admits(*policy, candidate, running, pool_of(9, 5)));
  BOOST_TEST(!admits(*policy, candidate, running, pool_of(10, 0)));
  candidate.shareable = 1;  // Of a page that is counted with another.
  BOOST_TEST(admits(*policy, candidate, running, pool_of(9, 5)));
  BOOST_TEST(!admits(*policy, candidate, running, pool_of(8, 5)));
  // Once for all that share it.
  std::vector<SequenceView> sharing = running;
  for (SequenceView& view : sharing) view.shareable = 2;
  PoolView pool = pool_of(8, 5);
  pool.num_shared = 2;
  BOOST_TEST(admits(*policy, view_of(16, 48), sharing, pool));
  pool.num_pages = 7;
  BOOST_TEST(!admits(*policy, view_of(16, 48), sharing, pool));
}

BOOST_AUTO_TEST_CASE(max_len_takes_contiguous_buffers) {
  const auto policy = max_len_admission();
  const SequenceView candidate = view_of(16, 48);
  BOOST_TEST(policy->tokens_at_start(candidate, pool_of(100, 64)) == 1024U);
  BOOST_TEST(admits(*policy, candidate, {view_of(1, 2)}, pool_of(100, 64)));
  BOOST_TEST(!admits(*policy, candidate, {view_of(1, 2)}, pool_of(100, 63)));
}

BOOST_AUTO_TEST_CASE(predicted_lets_an_idle_engine_take_what_fits) {
  const auto policy = predicted_admission(0.99, 0.5);
  BOOST_TEST(admits(*policy, view_of(160, 100'000), {}, pool_of(10, 10)));
  BOOST_TEST(!admits(*policy, view_of(161, 100'000), {}, pool_of(10, 10)));
}

BOOST_AUTO_TEST_CASE(predicted_takes_more_when_answers_are_short) {
  const auto policy = predicted_admission(0.95, 0.05);
  const std::vector<SequenceView> running(20, view_of(100, 2048));
  const SequenceView candidate = view_of(100, 2048);
  const PoolView pool = pool_of(400, 260);
  BOOST_TEST(!admits(*policy, candidate, running, pool, Endless()));
  BOOST_TEST(!admits(*policy, candidate, running, pool, Exponential(2000)));
  BOOST_TEST(admits(*policy, candidate, running, pool, Exponential(50)));
  // What fits at the worst is admitted, whatever the buffer.
  const auto careful = predicted_admission(0.999, 0.9);
  BOOST_TEST(admits(*careful, candidate, {view_of(100, 2048)}, pool_of(256, 200)));
  BOOST_TEST(!admits(*careful, candidate, {view_of(100, 2048)}, pool_of(255, 200)));
}

BOOST_AUTO_TEST_CASE(predicted_counts_shared_pages_once) {
  const auto policy = predicted_admission(0.9, 0);
  const std::vector<SequenceView> running(10, view_of(160, 200));
  SequenceView candidate = view_of(160, 200);
  PoolView pool = pool_of(132, 20);  // 13 pages each, with the last token.
  BOOST_TEST(!admits(*policy, candidate, running, pool));
  candidate.shareable = 10;
  BOOST_TEST(!admits(*policy, candidate, running, pool));
  auto sharing = running;
  for (SequenceView& view : sharing) view.shareable = 1;
  pool.num_shared = 1;
  BOOST_TEST(admits(*policy, candidate, sharing, pool));
  pool.num_shared = 10;
  BOOST_TEST(!admits(*policy, candidate, sharing, pool));
}

BOOST_AUTO_TEST_CASE(settings_out_of_range_are_refused_with_their_values) {
  const auto refuses = [](double quantile, double buffer, const std::string& part) {
    BOOST_CHECK_EXCEPTION(static_cast<void>(predicted_admission(quantile, buffer)), Error,
                          [&](const Error& error) {
                            return std::string(error.what()).find(part) != std::string::npos;
                          });
  };
  refuses(-0.1, 0, "quantile is -0.1");
  refuses(1.5, 0, "quantile is 1.5");
  refuses(std::numeric_limits<double>::quiet_NaN(), 0, "quantile is ");
  refuses(0.5, 1, "buffer is 1");
  refuses(0.5, -1, "buffer is -1");
  BOOST_CHECK_NO_THROW(static_cast<void>(predicted_admission(0, 0)));
  BOOST_CHECK_NO_THROW(static_cast<void>(predicted_admission(1, 0.999999)));
}

BOOST_AUTO_TEST_CASE(normal_quantiles_are_those_of_the_tables) {
  const std::array<std::pair<double, double>, 8> table{{{0.5, 0},
                                                        {0.6, 0.253347},
                                                        {0.9, 1.281552},
                                                        {0.95, 1.644854},
                                                        {0.975, 1.959964},
                                                        {0.99, 2.326348},
                                                        {0.999, 3.090232},
                                                        {0.9999, 3.719016}}};
  for (const auto& [probability, z] : table) {
    const auto parts = static_cast<std::uint64_t>(probability * 4294967296.0);
    BOOST_TEST(std::abs(static_cast<double>(normal_quantile(parts)) / 65536 - z) < 1.0 / 4096);
    const std::uint64_t rest = (1ULL << 32) - parts;
    BOOST_TEST(std::abs(static_cast<double>(normal_quantile(rest)) / 65536 + z) < 1.0 / 4096);
  }
  BOOST_TEST(normal_quantile(1ULL << 32) == 6 << 16);
  BOOST_TEST(normal_quantile(0) == -(6 << 16));
}

/// mean + z * deviation at the worst distance, over what may be used: admitted up to 1.
double load_of(const SequenceView& candidate, const std::vector<SequenceView>& running,
               const PoolView& pool, const LengthForecast& forecast, double z, double buffer,
               std::uint32_t distance) {
  double mean = 0;
  double variance = 0;
  auto all = running;
  all.push_back(candidate);
  for (const SequenceView& view : all) {
    std::uint32_t parts = 0;
    forecast.survival(view, std::array{distance}, std::span(&parts, 1));
    const double chance = static_cast<double>(parts) / LengthForecast::kCertain;
    const double pages = std::ceil((view.num_tokens + distance) / 16.0) - view.shareable;
    mean += pages * chance;
    variance += pages * pages * chance * (1 - chance);
  }
  return (mean + z * std::sqrt(variance)) / (pool.num_pages * (1 - buffer));
}

/// All the distances, one by one, are no better and hardly worse than the 16 of the policy.
void agree() {
  const auto number = [](int low, int high) {
    return static_cast<std::uint32_t>(*rc::gen::inRange(low, high));
  };
  std::vector<SequenceView> running(number(1, 40));
  for (SequenceView& view : running) {
    view = view_of(number(1, 500), 0);
    view.max_tokens = view.num_tokens + number(1, 1500);
  }
  const SequenceView candidate = view_of(number(1, 500), 2000);
  const Exponential forecast(number(1, 1000));
  const PoolView pool = pool_of(number(100, 2000), 100);
  const double quantile = number(1, 100) / 100.0;
  const double buffer = number(0, 50) / 100.0;
  const double z =
      static_cast<double>(normal_quantile(static_cast<std::uint64_t>(quantile * 4294967296.0))) /
      65536;

  std::uint64_t worst = pages_for(candidate.max_tokens, 16);
  for (const SequenceView& view : running) worst += pages_for(view.max_tokens, 16);
  double exact = 0;
  for (std::uint32_t distance = 1; distance < 2000; ++distance) {
    exact = std::max(exact, load_of(candidate, running, pool, forecast, z, buffer, distance));
  }
  const bool got =
      admits(*predicted_admission(quantile, buffer), candidate, running, pool, forecast);
  if (worst <= pool.num_pages) {
    RC_ASSERT(got);
  } else if (exact < 0.999) {
    RC_ASSERT(got);
  } else if (exact > 1.1) {
    RC_ASSERT(!got);
  }
}

BOOST_AUTO_TEST_CASE(predicted_agrees_with_every_distance_in_floating_point) {
  BOOST_TEST(rc::check("the peak over all distances decides", agree));
}

BOOST_AUTO_TEST_CASE(huge_pools_and_lengths_do_not_overflow) {
  const std::vector<SequenceView> running(1000, view_of(UINT32_MAX / 2, UINT32_MAX));
  const PoolView pool{UINT32_MAX, UINT32_MAX, 1, UINT32_MAX};
  const auto policy = predicted_admission(1, 0);
  BOOST_TEST(!admits(*policy, running[0], running, pool));
  BOOST_TEST(admits(*policy, view_of(5, 10), std::vector<SequenceView>{view_of(1, UINT32_MAX - 10)},
                    pool));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
