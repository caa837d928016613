// SlotSampling and TokenHistory: the same whether tokens were known at the start or came later.
#include "kernels/sampling/slot_sampling.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <map>

#include "kernels/sampling/sampler.hpp"
#include "tests/unit/sampling/rows.hpp"

using namespace tickertape;
using namespace tickertape::kernels::sampling;

namespace {

using Counts = std::map<TokenId, std::pair<std::uint32_t, std::uint32_t>>;

Counts counts_of(const TokenHistory& history) {
  Counts counts;
  for (const TokenHistory::Count& count : history.counts()) {
    if (count.in_prompt + count.generated == 0) continue;
    BOOST_TEST(counts.emplace(count.token, std::pair(count.in_prompt, count.generated)).second);
  }
  return counts;
}

Counts naive_counts(std::span<const TokenId> tokens, std::uint32_t prompt_length) {
  Counts counts;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    ++(i < prompt_length ? counts[tokens[i]].first : counts[tokens[i]].second);
  }
  return counts;
}

class NoRepeat final : public LogitProcessor {
 public:
  void process(const LogitContext& context, std::span<float> logits) const override {
    for (const TokenId token : context.generated) logits[static_cast<std::size_t>(token)] -= 1;
    for (const TokenId token : context.prompt) logits[static_cast<std::size_t>(token)] += 0.5F;
  }
};

OpenedSlot penalised() {
  OpenedSlot opened;
  opened.prompt_length = 5;
  opened.seed = 3;
  opened.choice = 1;
  opened.sampling.repetition_penalty = 1.3;
  opened.sampling.frequency_penalty = 0.4;
  opened.sampling.presence_penalty = 0.3;
  opened.sampling.min_tokens = 6;
  opened.suppressed = {7};
  opened.processor = std::make_shared<NoRepeat>();
  return opened;
}

constexpr std::uint32_t kVocabSize = 30;

/// Row `position` of a model that knows nothing but the position.
RowSample sample_at(const SlotSampling& slot, std::uint32_t position, SamplerScratch& scratch) {
  static const std::vector<std::vector<float>> rows = [] {
    test::Rows random(1);
    std::vector<std::vector<float>> all;
    for (int i = 0; i < 100; ++i) all.push_back(random.logits(kVocabSize, 1));
    return all;
  }();
  const RowSample sample = sample_row(rows[position], kVocabSize, slot, position, {}, scratch);
  BOOST_REQUIRE(sample.token >= 0);
  return sample;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(slot_sampling)

BOOST_AUTO_TEST_CASE(counts_follow_pushes_and_truncations) {
  test::Rows random(2);
  std::vector<TokenId> tokens;
  TokenHistory history({}, 20, true);
  for (int step = 0; step < 500; ++step) {
    if (random.below(10) == 0) {
      tokens.resize(random.below(static_cast<std::uint32_t>(tokens.size()) + 1));
      history.truncate(tokens.size());
    } else {
      tokens.push_back(static_cast<TokenId>(random.below(12)));
      history.push(tokens.back());
    }
    BOOST_REQUIRE(std::ranges::equal(history.tokens(), tokens));
    BOOST_REQUIRE((counts_of(history) == naive_counts(tokens, 20)));
  }
}

BOOST_AUTO_TEST_CASE(a_slot_opened_with_tokens_is_one_that_sampled_them) {
  const OpenedSlot opened = penalised();
  const std::vector<TokenId> prompt = {4, 4, 9, 20, 4};
  std::vector<TokenId> tokens = prompt;
  SlotSampling sampled(opened, prompt);
  SamplerScratch scratch;
  SamplerScratch other;
  for (std::uint32_t i = 0; i < 60; ++i) {
    const auto position = static_cast<std::uint32_t>(tokens.size());
    const RowSample expected = sample_at(sampled, position, scratch);
    const SlotSampling reopened(opened, tokens);
    const RowSample got = sample_at(reopened, position, other);
    BOOST_TEST(got.token == expected.token);
    BOOST_TEST(std::ranges::equal(got.logits, expected.logits));
    if (i < 6) BOOST_TEST(got.token != 7);
    sampled.note(position, expected.token);
    tokens.push_back(expected.token);
  }
}

BOOST_AUTO_TEST_CASE(a_draft_that_was_not_accepted_leaves_no_trace) {
  const OpenedSlot opened = penalised();
  const std::vector<TokenId> prompt = {4, 4, 9, 20, 4};
  SlotSampling slot(opened, prompt);
  SamplerScratch scratch;
  for (std::uint32_t i = 0; i < 3; ++i) slot.note(5 + i, 11);
  slot.note(5, 11);  // The same again changes nothing.
  slot.note(6, 12);  // This one was another: what came after it is void.
  const SlotSampling expected(opened, std::vector<TokenId>{4, 4, 9, 20, 4, 11, 12});
  TokenHistory unused;
  BOOST_TEST(slot.history(7, unused).size() == 7U);
  BOOST_TEST((counts_of(slot.history(7, unused)) == counts_of(expected.history(7, unused))));
  // A place in the middle sees what stands before it only.
  TokenHistory copy;
  BOOST_TEST((counts_of(slot.history(6, copy)) ==
              naive_counts(std::vector<TokenId>{4, 4, 9, 20, 4, 11}, 5)));
}

BOOST_AUTO_TEST_CASE(tokens_are_kept_only_for_whoever_looks_at_them) {
  OpenedSlot opened;
  opened.prompt_length = 1;
  opened.sampling.logit_bias = {{1, 2}};
  opened.sampling.allowed_token_ids = {1};
  opened.sampling.min_tokens = 3;
  opened.suppressed = {0};
  const std::vector<TokenId> tokens = {1, 2};
  BOOST_TEST(SlotSampling(opened, tokens).ignores_notes());
  BOOST_TEST(SlotSampling(opened, tokens).changes_logits(2));
  for (double SamplingParams::* penalty :
       {&SamplingParams::frequency_penalty, &SamplingParams::presence_penalty,
        &SamplingParams::repetition_penalty}) {
    OpenedSlot penalising;
    penalising.sampling.*penalty = 1.5;
    BOOST_TEST(!SlotSampling(penalising, tokens).ignores_notes());
  }
  OpenedSlot processing;
  processing.processor = std::make_shared<NoRepeat>();
  BOOST_TEST(!SlotSampling(processing, tokens).ignores_notes());
}

BOOST_AUTO_TEST_SUITE_END()
