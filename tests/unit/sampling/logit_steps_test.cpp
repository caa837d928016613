// Steps 1 to 4 of SamplingParams' list: each alone, in their order, and what goes wrong in them.
#include "kernels/sampling/logit_steps.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <functional>
#include <limits>
#include <stdexcept>

#include "kernels/sampling/sampler.hpp"
#include "tests/unit/sampling/rows.hpp"

using namespace tickertape;
using namespace tickertape::kernels::sampling;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
using Logits = std::vector<float>;

class Function final : public LogitProcessor {
 public:
  using Body = std::function<void(const LogitContext&, std::span<float>)>;
  explicit Function(Body body) : body_(std::move(body)) {}
  void process(const LogitContext& context, std::span<float> logits) const override {
    body_(context, logits);
  }

 private:
  Body body_;
};

/// A slot whose first three tokens are the prompt.
OpenedSlot open(std::function<void(SamplingParams&)> change = {}) {
  OpenedSlot opened;
  opened.prompt_length = 3;
  if (change) change(opened.sampling);
  return opened;
}

OpenedSlot open_with(Function::Body body) {
  OpenedSlot opened = open();
  opened.processor = std::make_shared<Function>(std::move(body));
  return opened;
}

/// The row after the steps; `tokens` are those known.
Logits changed(const OpenedSlot& opened, const std::vector<TokenId>& tokens, Logits row) {
  TokenHistory scratch;
  const std::string fault = apply_logit_steps(
      SlotSampling(opened, tokens), static_cast<std::uint32_t>(tokens.size()), {}, row, scratch);
  BOOST_TEST(fault == "");
  return row;
}

std::string fault_of(const OpenedSlot& opened, Logits row) {
  TokenHistory scratch;
  return apply_logit_steps(SlotSampling(opened, std::vector<TokenId>{1, 2, 3}), 3, {}, row,
                           scratch);
}

const std::vector<TokenId> kTokens = {1, 1, 4, 2, 2, 0};  // Prompt 1 1 4, then 2 2 0.
const Logits kRow = {1, -2, 3, -0.5F, 2};

}  // namespace

BOOST_AUTO_TEST_SUITE(logit_steps)

BOOST_AUTO_TEST_CASE(only_allowed_ids_stay_possible) {
  const auto opened = open([](auto& p) { p.allowed_token_ids = {3, 1, 3, 99, -1}; });
  BOOST_TEST(changed(opened, kTokens, kRow) ==
             (Logits{-kInfinity, -2, -kInfinity, -0.5F, -kInfinity}));
}

BOOST_AUTO_TEST_CASE(suppressed_ids_come_back_after_min_tokens) {
  OpenedSlot opened = open([](auto& p) { p.min_tokens = 3; });
  opened.suppressed = {2, 99};
  const Logits without{1, -2, -kInfinity, -0.5F, 2};
  for (std::size_t generated = 0; generated < 6; ++generated) {
    const std::vector<TokenId> tokens(3 + generated, 1);
    BOOST_TEST(changed(opened, tokens, kRow) == (generated < 3 ? without : kRow));
  }
}

BOOST_AUTO_TEST_CASE(biases_are_added_to_what_is_possible) {
  const auto opened = open([](auto& p) {
    p.allowed_token_ids = {0, 1, 4};
    p.logit_bias = {{0, 1.5F}, {1, -100}, {2, 100}, {77, 5}};
  });
  BOOST_TEST(changed(opened, kTokens, kRow) == (Logits{2.5F, -102, -kInfinity, -kInfinity, 2}));
}

BOOST_AUTO_TEST_CASE(repetition_looks_at_prompt_and_answer_the_others_at_the_answer) {
  auto opened = open([](auto& p) { p.repetition_penalty = 2; });
  BOOST_TEST(changed(opened, kTokens, kRow) == (Logits{0.5F, -4, 1.5F, -0.5F, 1}));
  opened = open([](auto& p) { p.frequency_penalty = 0.5; });
  BOOST_TEST(changed(opened, kTokens, kRow) == (Logits{0.5F, -2, 2, -0.5F, 2}));
  opened = open([](auto& p) { p.presence_penalty = 0.5; });
  BOOST_TEST(changed(opened, kTokens, kRow) == (Logits{0.5F, -2, 2.5F, -0.5F, 2}));
  opened = open([](auto& p) {
    p.repetition_penalty = 2;
    p.frequency_penalty = 0.5;
    p.presence_penalty = -0.25;
  });
  BOOST_TEST(changed(opened, kTokens, kRow) == (Logits{0.25F, -4, 0.75F, -0.5F, 1}));
}

BOOST_AUTO_TEST_CASE(finite_logits_stay_finite) {
  const auto opened = open([](auto& p) {
    p.repetition_penalty = 1e-3;
    p.logit_bias = {{0, 100}};
  });
  const Logits row = changed(opened, {0, 1, 2}, {3e38F, -3e38F, 3e38F, -kInfinity});
  BOOST_TEST(row[0] == std::numeric_limits<float>::max());
  BOOST_TEST(std::isfinite(row[1]));
  BOOST_TEST(row[2] == std::numeric_limits<float>::max());
  BOOST_TEST(row[3] == -kInfinity);
  const auto low = open([](auto& p) { p.repetition_penalty = 10; });
  BOOST_TEST(changed(low, {0, 1, 2}, {1, -3e38F})[1] == std::numeric_limits<float>::lowest());
}

BOOST_AUTO_TEST_CASE(the_processor_stands_between_bias_and_penalties) {
  OpenedSlot opened = open_with([](const LogitContext& context, std::span<float> logits) {
    BOOST_TEST(context.choice == 2U);
    BOOST_TEST((std::vector<TokenId>(context.prompt.begin(), context.prompt.end()) ==
                std::vector<TokenId>{1, 1, 4}));
    BOOST_TEST((std::vector<TokenId>(context.generated.begin(), context.generated.end()) ==
                std::vector<TokenId>{2, 2, 0}));
    BOOST_TEST(logits.size() == 5U);
    BOOST_TEST(logits[0] == 11);
    logits[0] = 3;
  });
  opened.choice = 2;
  opened.sampling.logit_bias = {{0, 10}};
  opened.sampling.presence_penalty = 1;
  BOOST_TEST(changed(opened, kTokens, kRow) == (Logits{2, -2, 2, -0.5F, 2}));
}

BOOST_AUTO_TEST_CASE(faults_say_what_went_wrong) {
  BOOST_TEST(fault_of(open([](auto& p) { p.allowed_token_ids = {99}; }), kRow) ==
             "no token is possible: allowed_token_ids and min_tokens leave none");
  OpenedSlot both = open([](auto& p) {
    p.allowed_token_ids = {2};
    p.min_tokens = 1;
  });
  both.suppressed = {2};
  BOOST_TEST(fault_of(both, kRow).starts_with("no token is possible"));
  BOOST_TEST(fault_of(open_with([](auto&, std::span<float> logits) {
                        for (float& logit : logits) logit = -kInfinity;
                      }),
                      kRow) == "no token is possible: the logit_processor left none");
  for (const float bad : {kNan, kInfinity}) {
    BOOST_TEST(fault_of(open_with([&](auto&, std::span<float> logits) { logits[3] = bad; }),
                        kRow) == "the logit_processor gave NaN or plus infinity for token 3");
  }
  BOOST_TEST(fault_of(open_with([](auto&, auto) { throw std::runtime_error("out of ideas"); }),
                      kRow) == "the logit_processor failed: out of ideas");
  BOOST_TEST(fault_of(open_with([](auto&, auto) { throw 7; }), kRow).find("threw") !=
             std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_model_without_good_numbers_is_told_apart_from_a_request_without_tokens) {
  SamplerScratch scratch;
  const SlotSampling slot(open([](auto& p) { p.allowed_token_ids = {99}; }),
                          std::vector<TokenId>{1, 2, 3});
  for (const Logits& row :
       {Logits{0, kNan}, Logits{kInfinity, 0}, Logits{-kInfinity, -kInfinity}}) {
    const RowSample sample = sample_row(row, 2, slot, 3, {}, scratch);
    BOOST_TEST(sample.bad_numbers);
    BOOST_TEST(sample.fault == "");
    BOOST_TEST(sample.token == -1);
  }
  const RowSample sample = sample_row(Logits{0, 1}, 2, slot, 3, {}, scratch);
  BOOST_TEST(!sample.bad_numbers);
  BOOST_TEST(sample.fault.starts_with("no token is possible"));
  BOOST_TEST(sample.token == -1);
}

BOOST_AUTO_TEST_CASE(rows_that_no_step_changes_are_not_copied) {
  SamplerScratch scratch;
  for (const OpenedSlot& opened : {open(), open([](auto& p) { p.temperature = 0; })}) {
    const RowSample sample =
        sample_row(kRow, 5, SlotSampling(opened, std::vector<TokenId>{1, 2, 3}), 3, {}, scratch);
    BOOST_TEST(sample.logits.data() == kRow.data());
    BOOST_TEST(scratch.changed_logits.capacity() == 0U);
  }
}

BOOST_AUTO_TEST_CASE(the_logits_after_step_4_are_those_that_are_reported) {
  SamplerScratch scratch;
  const SlotSampling slot(open([](auto& p) {
                            p.allowed_token_ids = {0, 2};
                            p.presence_penalty = 1;
                            p.temperature = 0;
                          }),
                          kTokens);
  const RowSample sample = sample_row(kRow, 5, slot, 6, {}, scratch);
  BOOST_TEST(sample.token == 2);
  PositionLogprobs out;
  std::vector<TokenLogprob> top;
  position_logprobs(sample.logits, 5, sample.token, 3, scratch, out, top);
  // Logits 0 and 2 are left.
  BOOST_TEST(std::abs(out.chosen.logprob + std::log1p(std::exp(-2.0F))) < 1e-6F);
  BOOST_REQUIRE(top.size() == 3U);
  BOOST_TEST(top[0].token == 2);
  BOOST_TEST(top[1].token == 0);
  BOOST_TEST(top[2].logprob == kLogprobFloor);
}

BOOST_AUTO_TEST_SUITE_END()
