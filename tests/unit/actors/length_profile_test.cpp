// LengthProfile against the distributions that its answers were drawn from.
#include "actors/length_profile.hpp"

#include <array>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <numbers>
#include <random>
#include <vector>

namespace {

using tickertape::LengthForecast;
using tickertape::SequenceView;
using tickertape::actors::LengthBucket;
using tickertape::actors::LengthProfile;
using tickertape::actors::probability_of;

constexpr std::uint32_t kPrompt = 100;
constexpr std::uint32_t kMaxTokens = 1 << 20;

/// Lengths whose logarithm is normal, with their exact survival.
struct LogNormal {
  double median;
  double sigma;

  std::uint32_t draw(std::mt19937_64& dice) const {
    const auto uniform = [&] { return (static_cast<double>(dice() >> 11) + 0.5) / (1ULL << 53); };
    const double normal =
        std::sqrt(-2 * std::log(uniform())) * std::cos(2 * std::numbers::pi * uniform());
    return static_cast<std::uint32_t>(std::ceil(median * std::exp(sigma * normal)));
  }
  /// P(length > x).
  double survival(double x) const {
    return std::erfc(std::log(x / median) / sigma / std::numbers::sqrt2) / 2;
  }
  double quantile(double probability) const {
    double low = 0;
    double high = 1 << 30;
    for (int i = 0; i < 100; ++i) {
      const double middle = (low + high) / 2;
      (1 - survival(middle) < probability ? low : high) = middle;
    }
    return low;
  }
};

SequenceView view_of(std::uint32_t generated, std::uint64_t client = 0) {
  SequenceView view;
  view.client = client;
  view.prompt_tokens = kPrompt;
  view.num_tokens = kPrompt + generated;
  view.max_tokens = kMaxTokens;
  return view;
}

/// An answer of `length` tokens from its start to its end, or to where something else ends it.
void run(LengthProfile& profile, std::uint32_t length, SequenceView view,
         std::uint32_t cut = UINT32_MAX) {
  for (std::uint32_t generated = 0; generated <= std::min(length, cut); ++generated) {
    view.num_tokens = view.prompt_tokens + generated;
    profile.reached(view);
  }
  if (length <= cut) profile.ended(view);
}

double survival_of(const LengthProfile& profile, const SequenceView& view, std::uint32_t further) {
  std::uint32_t out = 0;
  profile.survival(view, std::array{further}, std::span(&out, 1));
  return static_cast<double>(out) / LengthForecast::kCertain;
}

std::uint32_t quantile_of(const LengthProfile& profile, const SequenceView& view, double q) {
  return profile.quantile(view, static_cast<std::uint32_t>(q * LengthForecast::kCertain));
}

/// Within a bucket (a quarter of an octave), and what so few answers leave open.
void check_near(std::uint32_t got, double expected, double factor = 1.25) {
  BOOST_TEST_CONTEXT("got " << got << ", expected about " << expected) {
    BOOST_TEST(got <= expected * factor + 1);
    BOOST_TEST(got + 1 >= expected / factor);
  }
}

BOOST_AUTO_TEST_SUITE(length_profile)

BOOST_AUTO_TEST_CASE(buckets_follow_each_other_and_hold_a_quarter_octave) {
  for (std::size_t index = 0; index < LengthBucket::kCount; ++index) {
    const std::uint64_t first = LengthBucket::first(index);
    const std::uint64_t width = LengthBucket::first(index + 1) - first;
    for (const std::uint64_t inside : {std::uint64_t{0}, width / 2, width - 1}) {
      const LengthBucket bucket = LengthBucket::of(first + inside);
      BOOST_TEST(bucket.index == index);
      BOOST_TEST(bucket.inside == inside);
      BOOST_TEST((1ULL << bucket.width_bits) == width);
    }
    if (first > 60) BOOST_TEST(width * 3.7 <= first);
  }
  BOOST_TEST(LengthBucket::first(0) == 0U);
  BOOST_TEST(LengthBucket::of(UINT64_MAX).index == LengthBucket::kCount - 1);
  BOOST_TEST(LengthBucket::first(LengthBucket::kCount) == LengthBucket::kMostLength + 1);
}

BOOST_AUTO_TEST_CASE(powers_of_two_are_right) {
  for (std::uint32_t decay = 0; decay < 20 << 16; decay += 37) {
    const double exact = std::exp2(-static_cast<double>(decay) / 65536) * 65536;
    BOOST_REQUIRE(std::abs(probability_of(decay) - exact) <= exact * 0.0008 + 1);
    BOOST_REQUIRE(probability_of(decay) >= probability_of(decay + 37));
  }
  BOOST_TEST(probability_of(0) == LengthForecast::kCertain);
  BOOST_TEST(probability_of(UINT32_MAX) == 0U);
}

BOOST_AUTO_TEST_CASE(without_experience_answers_go_on_to_their_end) {
  const LengthProfile profile;
  const SequenceView view = view_of(5);
  BOOST_TEST(survival_of(profile, view, 0) == 1);
  BOOST_TEST(survival_of(profile, view, kMaxTokens - view.num_tokens - 1) == 1);
  BOOST_TEST(survival_of(profile, view, kMaxTokens - view.num_tokens) == 0);
  BOOST_TEST(survival_of(profile, view, UINT32_MAX) == 0);
  BOOST_TEST(quantile_of(profile, view, 0.5) == kMaxTokens - kPrompt);
  BOOST_TEST(quantile_of(profile, view, 0) == 5U);
}

BOOST_AUTO_TEST_CASE(learns_a_distribution) {
  for (const LogNormal truth : {LogNormal{200, 0.8}, LogNormal{20, 1.2}, LogNormal{1500, 0.4}}) {
    std::mt19937_64 dice(1);
    LengthProfile profile;
    for (int i = 0; i < 3000; ++i) run(profile, truth.draw(dice), view_of(0));
    for (const double q : {0.1, 0.5, 0.9, 0.95}) {
      check_near(quantile_of(profile, view_of(0), q), truth.quantile(q));
    }
    for (const double q : {0.2, 0.5, 0.7, 0.9}) {
      const double x = truth.quantile(q);
      const double got = survival_of(profile, view_of(0), static_cast<std::uint32_t>(x));
      BOOST_TEST(std::abs(got - (1 - q)) < 0.08);
    }
  }
}

BOOST_AUTO_TEST_CASE(what_a_sequence_has_counts) {
  const LogNormal truth{200, 0.8};
  std::mt19937_64 dice(2);
  LengthProfile profile;
  for (int i = 0; i < 3000; ++i) run(profile, truth.draw(dice), view_of(0));
  for (const std::uint32_t has : {50U, 200U, 500U}) {
    const double left = truth.survival(has);
    for (const double q : {0.25, 0.5, 0.75}) {
      check_near(quantile_of(profile, view_of(has), q), truth.quantile(1 - left * (1 - q)));
    }
  }
}

BOOST_AUTO_TEST_CASE(quantile_and_survival_say_the_same) {
  const LogNormal truth{100, 1};
  std::mt19937_64 dice(3);
  LengthProfile profile;
  for (int i = 0; i < 500; ++i) run(profile, truth.draw(dice), view_of(0));
  for (const std::uint32_t has : {0U, 7U, 150U}) {
    for (std::uint32_t q = 0; q <= LengthForecast::kCertain; q += 997) {
      const double allowed = 1 - static_cast<double>(q) / LengthForecast::kCertain;
      const SequenceView view = view_of(has);
      const std::uint32_t length = profile.quantile(view, q);
      BOOST_REQUIRE(survival_of(profile, view, length - has) <= allowed);
      if (length == has) continue;
      BOOST_REQUIRE(survival_of(profile, view, length - has - 1) > allowed);
    }
  }
}

// Everybody started at the same time and has got as far as 205 tokens, or to its end: into the
// middle of a bucket, in which so far ended only some of those who will.
BOOST_AUTO_TEST_CASE(long_ones_that_still_run_count) {
  const LogNormal truth{200, 0.8};
  std::mt19937_64 dice(4);
  LengthProfile profile;
  std::vector<std::uint32_t> ended;
  for (int i = 0; i < 250; ++i) {
    const std::uint32_t length = truth.draw(dice);
    run(profile, length, view_of(0), 205);
    if (length <= 205) ended.push_back(length);
  }
  std::ranges::sort(ended);
  const std::uint32_t naive = ended[ended.size() / 2];
  BOOST_TEST(naive < 0.65 * truth.quantile(0.5));  // The median of those that ended.
  check_near(quantile_of(profile, view_of(0), 0.5), truth.quantile(0.5));
  const double left = survival_of(profile, view_of(0), 219);  // Where the bucket ends.
  BOOST_TEST(std::abs(left - truth.survival(219)) < 0.1);
  // Nobody has been where the ninth of ten ends.
  BOOST_TEST(quantile_of(profile, view_of(0), 0.9) == kMaxTokens - kPrompt);
}

BOOST_AUTO_TEST_CASE(answers_that_others_end_count_as_far_as_they_came) {
  const LogNormal truth{200, 0.8};
  std::mt19937_64 dice(5);
  LengthProfile profile;
  for (int i = 0; i < 4000; ++i) {
    const std::uint32_t cut = i % 3 == 0 ? UINT32_MAX : LogNormal{120, 1}.draw(dice);
    run(profile, truth.draw(dice), view_of(0), cut);
  }
  for (const double q : {0.25, 0.5, 0.75, 0.9}) {
    check_near(quantile_of(profile, view_of(0), q), truth.quantile(q));
  }
}

BOOST_AUTO_TEST_CASE(traffic_that_turns_long_is_followed) {
  const LogNormal brief{30, 0.6};
  const LogNormal longer{600, 0.6};
  std::mt19937_64 dice(6);
  LengthProfile profile;
  for (int i = 0; i < 20'000; ++i) run(profile, brief.draw(dice), view_of(0));
  check_near(quantile_of(profile, view_of(0), 0.5), 30);
  for (int i = 0; i < 700; ++i) run(profile, longer.draw(dice), view_of(0));
  check_near(quantile_of(profile, view_of(0), 0.5), 600, 1.5);
  for (int i = 0; i < 700; ++i) run(profile, brief.draw(dice), view_of(0));
  check_near(quantile_of(profile, view_of(0), 0.5), 30, 1.5);
}

BOOST_AUTO_TEST_CASE(classes_lean_on_coarser_ones) {
  LengthProfile profile;
  const SequenceView one = view_of(0, 1);
  const SequenceView two = view_of(0, 2);
  for (int i = 0; i < 100; ++i) run(profile, 10, one);
  for (int i = 0; i < 31; ++i) run(profile, 1000, two);
  check_near(quantile_of(profile, one, 0.5), 10);
  check_near(quantile_of(profile, two, 0.5), 10);  // 31 are too few: it leans on its kind.
  run(profile, 1000, two);
  check_near(quantile_of(profile, two, 0.5), 1000);
  check_near(quantile_of(profile, one, 0.5), 10);

  SequenceView other = view_of(0, 1);
  other.is_chat = true;
  check_near(quantile_of(profile, other, 0.5), 10);  // Nobody of this kind: all.
  for (int i = 0; i < 32; ++i) run(profile, 200, other);
  check_near(quantile_of(profile, other, 0.5), 200);
  check_near(quantile_of(profile, one, 0.5), 10);
  SequenceView longer = one;
  longer.prompt_tokens *= 16;
  longer.num_tokens *= 16;
  for (int i = 0; i < 32; ++i) run(profile, 50, longer);
  check_near(quantile_of(profile, longer, 0.5), 50);
}

BOOST_AUTO_TEST_CASE(the_least_recently_used_classes_are_forgotten) {
  LengthProfile profile(8);
  const auto learn = [&](std::uint64_t client, std::uint32_t length) {
    for (int i = 0; i < 40; ++i) run(profile, length, view_of(0, client));
  };
  learn(1, 5000);
  learn(2, 5000);
  for (std::uint64_t client = 100; client < 106; ++client) learn(client, 10);
  BOOST_TEST(profile.num_classes() == 8U);
  learn(1, 5000);
  learn(200, 10);  // Takes the place of client 2.
  BOOST_TEST(profile.num_classes() == 8U);
  check_near(quantile_of(profile, view_of(0, 1), 0.5), 5000);
  BOOST_TEST(quantile_of(profile, view_of(0, 2), 0.3) < 100U);
  const LengthProfile copy = profile;
  learn(1, 10);
  learn(1, 10);
  learn(1, 10);
  check_near(quantile_of(copy, view_of(0, 1), 0.5), 5000);
  for (std::uint64_t client = 0; client < 10'000; ++client) run(profile, 3, view_of(0, client));
  BOOST_TEST(profile.num_classes() == 8U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
