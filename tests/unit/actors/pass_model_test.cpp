// PassModel and the fit behind it: synthetic passes with noise and pauses, and degenerate ones.
#include "actors/pass_model.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <random>
#include <vector>

#include "actors/least_squares.hpp"

namespace {

using tickertape::actors::Fit;
using tickertape::actors::fit_not_negative;
using tickertape::actors::FitRow;
using tickertape::actors::PassModel;

/// A machine: nanoseconds of a pass, per token, per token of context.
struct Machine {
  double base;
  double per_token;
  double per_context;

  double time(double tokens, double context) const {
    return base + per_token * tokens + per_context * context;
  }
};

struct Pass {
  std::uint64_t tokens;
  std::uint64_t context;
};

/// Mostly single tokens of up to 30 sequences, sometimes with a piece of a prompt beside them.
Pass draw_pass(std::mt19937_64& dice) {
  const std::uint64_t sequences = 1 + dice() % 30;
  Pass pass{sequences, sequences * (100 + dice() % 1500)};
  if (dice() % 5 == 0) {
    const std::uint64_t chunk = 16 + dice() % 500;
    const std::uint64_t position = dice() % 3000;
    pass.tokens += chunk;
    pass.context += chunk * position + chunk * (chunk + 1) / 2;
  }
  return pass;
}

/// Runs `count` passes with `noise` (relative) and a pause of `pause_ns` in each `pause_each`.
void observe(PassModel& model, const Machine& machine, std::mt19937_64& dice, int count,
             double noise, int pause_each = 0, double pause_ns = 0) {
  for (int i = 0; i < count; ++i) {
    const Pass pass = draw_pass(dice);
    const double uniform = static_cast<double>(dice() >> 11) / (1ULL << 53);
    double time = machine.time(static_cast<double>(pass.tokens), static_cast<double>(pass.context));
    time *= 1 + noise * (2 * uniform - 1);
    if (pause_each > 0 && dice() % static_cast<unsigned>(pause_each) == 0) time += pause_ns;
    model.observe(pass.tokens, pass.context, static_cast<std::int64_t>(time));
  }
}

/// What the model says of ordinary passes, and of parts of them, lies within `share` of the truth.
void check_model(const PassModel& model, const Machine& machine, double share) {
  BOOST_REQUIRE(model.ready());
  for (const Pass pass :
       {Pass{1, 100}, Pass{8, 8000}, Pass{30, 30'000}, Pass{256, 40'000}, Pass{512, 1'000'000}}) {
    const double expected =
        machine.time(static_cast<double>(pass.tokens), static_cast<double>(pass.context));
    const auto got = static_cast<double>(model.estimate_ns(pass.tokens, pass.context));
    BOOST_TEST_CONTEXT(pass.tokens << " tokens: " << got << " ns, expected " << expected) {
      BOOST_TEST(std::abs(got / expected - 1) < share);
    }
  }
  // A prompt of its own in three passes, and one beside passes that are run anyway.
  for (const std::uint32_t passes : {3U, 0U}) {
    const double expected =
        passes * machine.base + 1200 * machine.per_token + 1200 * 1201 / 2 * machine.per_context;
    BOOST_TEST_CONTEXT(passes << " passes more") {
      BOOST_TEST(std::abs(static_cast<double>(model.prefill_ns(1200, passes)) / expected - 1) <
                 2 * share);
    }
  }
}

BOOST_AUTO_TEST_SUITE(pass_model)

BOOST_AUTO_TEST_CASE(finds_the_coefficients) {
  for (const Machine machine : {Machine{3e6, 150e3, 20}, Machine{500e3, 1e3, 0.02},
                                Machine{20e6, 5e6, 2000}, Machine{1e3, 10, 0.1}}) {
    std::mt19937_64 dice(1);
    PassModel model;
    observe(model, machine, dice, 400, 0);
    check_model(model, machine, 0.01);
  }
}

BOOST_AUTO_TEST_CASE(noise_and_pauses_do_little) {
  const Machine machine{3e6, 150e3, 20};
  for (unsigned seed = 0; seed < 10; ++seed) {
    std::mt19937_64 dice(seed);
    PassModel noisy;
    observe(noisy, machine, dice, 400, 0.1);
    check_model(noisy, machine, 0.04);
    PassModel paused;
    observe(paused, machine, dice, 400, 0.1, 25, 500e6);
    check_model(paused, machine, 0.06);
  }
}

BOOST_AUTO_TEST_CASE(a_first_pass_that_took_long_does_little) {
  const Machine machine{3e6, 150e3, 20};
  std::mt19937_64 dice(1);
  PassModel model;
  for (int i = 0; i < 3; ++i) model.observe(30, 1000, PassModel::kMaxDurationNs);
  observe(model, machine, dice, 100, 0.02);
  check_model(model, machine, 0.06);
}

// Passes of one token, and those beyond 512, are rare: the old machine is forgotten there last.
BOOST_AUTO_TEST_CASE(a_machine_that_changes_is_followed) {
  const Machine machine{3e6, 150e3, 20};
  std::mt19937_64 dice(1);
  PassModel model;
  observe(model, machine, dice, 400, 0.05);
  const Machine slower{12e6, 900e3, 100};
  observe(model, slower, dice, 5000, 0.05);
  check_model(model, slower, 0.04);
  observe(model, machine, dice, 5000, 0.05);
  check_model(model, machine, 0.04);
}

BOOST_AUTO_TEST_CASE(rare_prompts_are_not_forgotten) {
  const Machine machine{3e6, 150e3, 20};
  std::mt19937_64 dice(1);
  PassModel model;
  observe(model, machine, dice, 400, 0.02);
  for (std::uint64_t i = 0; i < 10'000; ++i) {
    const std::uint64_t context = 20 * (1000 + i % 500);
    model.observe(20, context,
                  static_cast<std::int64_t>(machine.time(20, static_cast<double>(context))));
  }
  check_model(model, machine, 0.02);
}

BOOST_AUTO_TEST_CASE(passes_that_tell_nothing_apart_make_no_model) {
  PassModel same;
  for (int i = 0; i < 1000; ++i) same.observe(32, 32'000, 10'000'000);
  BOOST_TEST(!same.ready());

  PassModel proportional;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const std::uint64_t tokens = 1 + i % 64;
    proportional.observe(tokens, 1000 * tokens,
                         static_cast<std::int64_t>(1'000'000 + tokens * 7000));
  }
  BOOST_TEST(!proportional.ready());

  PassModel nothing;
  for (int i = 0; i < 1000; ++i) nothing.observe(0, 0, 1000);
  for (std::uint64_t i = 0; i < 1000; ++i) nothing.observe(i % 77, i * 31 % 1000, 0);
  for (std::uint64_t i = 0; i < 1000; ++i) nothing.observe(i % 77, i * 31 % 1000, -5);
  BOOST_TEST(!nothing.ready());
}

BOOST_AUTO_TEST_CASE(coefficients_are_never_negative) {
  // More tokens take less time, as no machine does.
  std::mt19937_64 dice(1);
  PassModel model;
  for (int i = 0; i < 400; ++i) {
    const Pass pass = draw_pass(dice);
    model.observe(pass.tokens, pass.context, static_cast<std::int64_t>(50'000'000 / pass.tokens));
  }
  BOOST_REQUIRE(model.ready());
  BOOST_TEST(model.prefill_ns(1000, 0) >= 0);
  BOOST_TEST(model.estimate_ns(1, 0) > 0);
  BOOST_TEST(model.estimate_ns(500, 0) >= model.estimate_ns(1, 0));
  BOOST_TEST(model.estimate_ns(1, 1 << 20) >= model.estimate_ns(1, 0));
}

BOOST_AUTO_TEST_CASE(extremes_do_not_overflow) {
  std::mt19937_64 dice(1);
  for (int round = 0; round < 20; ++round) {
    PassModel model;
    for (int i = 0; i < 1000; ++i) {
      const std::uint64_t tokens = 1 + (dice() >> (40 + dice() % 24));
      const std::uint64_t context = dice() >> (dice() % 64);
      model.observe(tokens, context, static_cast<std::int64_t>(dice() >> (1 + dice() % 63)));
    }
    if (!model.ready()) continue;
    const std::int64_t most = model.estimate_ns(UINT64_MAX, UINT64_MAX);
    BOOST_TEST(most >= 0);
    BOOST_TEST(model.estimate_ns(1, 0) <= most);
    BOOST_TEST(model.tokens_within(INT64_MAX, UINT64_MAX, UINT64_MAX, UINT32_MAX, UINT32_MAX) ==
               UINT32_MAX);
    BOOST_TEST(model.tokens_within(-1, 0, 0, 0, UINT32_MAX) == 0U);
  }
}

BOOST_AUTO_TEST_CASE(tokens_within_a_limit_are_the_most_that_fit) {
  const Machine machine{3e6, 150e3, 20};
  std::mt19937_64 dice(1);
  PassModel model;
  observe(model, machine, dice, 400, 0.02);
  for (int i = 0; i < 2000; ++i) {
    const Pass beside = draw_pass(dice);
    const auto position = static_cast<std::uint32_t>(dice() % 4000);
    const auto most = static_cast<std::uint32_t>(dice() % 3000);
    const auto limit = static_cast<std::int64_t>(dice() % 300'000'000);
    const std::uint64_t count =
        model.tokens_within(limit, beside.tokens, beside.context, position, most);
    const auto time = [&](std::uint64_t more) {
      return model.estimate_ns(beside.tokens + more,
                               beside.context + more * position + more * (more + 1) / 2);
    };
    BOOST_REQUIRE(count <= most);
    if (count > 0) BOOST_REQUIRE(time(count) <= limit);
    if (count < most) BOOST_REQUIRE(time(count + 1) > limit);
  }
}

BOOST_AUTO_TEST_CASE(the_fit_is_the_best_that_is_not_negative) {
  std::mt19937_64 dice(1);
  for (int round = 0; round < 200; ++round) {
    std::vector<FitRow> rows;
    for (int i = 0; i < 60; ++i) {
      const auto draw = [&](std::uint64_t most) {
        return static_cast<std::uint32_t>(dice() % most);
      };
      rows.push_back({{draw(32768), draw(20000), draw(5000)}, draw(32769)});
    }
    const Fit fit = fit_not_negative(rows);
    BOOST_REQUIRE(fit.is_sharp);
    std::array<double, 3> best{};
    for (std::size_t j = 0; j < 3; ++j) {
      best[j] = static_cast<double>(fit.coefficients[j].num) /
                static_cast<double>(fit.coefficients[j].den);
      BOOST_REQUIRE(best[j] >= 0);
    }
    const auto error = [&](const std::array<double, 3>& c) {
      double sum = 0;
      for (const FitRow& row : rows) {
        const double off = row.y - c[0] * row.x[0] - c[1] * row.x[1] - c[2] * row.x[2];
        sum += off * off;
      }
      return sum;
    };
    const double least = error(best);
    for (std::size_t j = 0; j < 3; ++j) {
      for (const double step : {1e-3, -1e-3}) {
        auto moved = best;
        moved[j] = std::max(0.0, moved[j] + step);
        BOOST_TEST(error(moved) >= least * (1 - 1e-9));
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
