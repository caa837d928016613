// D05: vocabulary, weights and tokenizer that disagree: refused with what was expected, or served
// by a rule; rows that pad the vocabulary are never sampled.
#include <boost/test/unit_test.hpp>
#include <functional>
#include <string>
#include <vector>

#include "tests/support/gguf_trial.hpp"
#include "tests/unit/text/small_vocabulary.hpp"

namespace tickertape::test {
namespace {

constexpr std::uint32_t kNumRows = 300;

/// A model of 300 rows with the small vocabulary, filled up to `num_tokens`.
struct Vocabulary : SmallVocabulary {
  explicit Vocabulary(std::size_t num_tokens = kNumRows) {
    while (tokens.size() < num_tokens) add("filler" + std::to_string(tokens.size()));
  }

  [[nodiscard]] TinyLlama llama(std::function<void(GgufBuilder&)> more = {}) const {
    TinyLlama llama;
    llama.vocab_size = kNumRows;
    llama.add = [*this, more = std::move(more)](GgufBuilder& builder) {
      builder.string("tokenizer.ggml.model", "gpt2")
          .strings("tokenizer.ggml.tokens", tokens)
          .i32s("tokenizer.ggml.token_type", types)
          .strings("tokenizer.ggml.merges", merges);
      if (more) more(builder);
    };
    return llama;
  }
};

void check_refused(const TinyLlama& llama, const std::vector<std::string>& parts) {
  const std::string message = outcome_of(llama);
  for (const std::string& part : parts) {
    BOOST_TEST(message.find(part) != std::string::npos, "\"" << message << "\" lacks " << part);
  }
}

BOOST_AUTO_TEST_CASE(d05_whole_files_are_accepted) {
  BOOST_TEST(outcome_of(Vocabulary().llama()) == "");
  BOOST_TEST(outcome_of(TinyLlama()) == "");  // No tokenizer: ids only.
  BOOST_TEST((load_tiny_llama(TinyLlama())->tokenizer() == nullptr));
  TinyLlama untied = Vocabulary().llama();
  untied.tied = false;
  BOOST_TEST(outcome_of(untied) == "");
}

BOOST_AUTO_TEST_CASE(d05_more_tokens_than_rows_are_refused_with_both_numbers) {
  check_refused(Vocabulary(kNumRows + 1).llama(), {"tokenizer.ggml.tokens", "301", "300 rows"});
  check_refused(Vocabulary(kNumRows + 64).llama(), {"tokenizer.ggml.tokens", "364", "300 rows"});
  TinyLlama rows = Vocabulary().llama();
  rows.tied = false;
  rows.overrides["output.weight"].dims = std::vector<std::uint64_t>{64, kNumRows - 1};
  check_refused(rows, {"output.weight", "[64, 299]", "[64, 300]"});
}

/// 64 rows more than tokens, and one more: at temperature 2, where all have about the same weight.
BOOST_AUTO_TEST_CASE(d05_padding_rows_are_never_sampled) {
  for (const std::uint32_t num_tokens : {kNumRows - 1, kNumRows - 36}) {
    const auto model = load_tiny_llama(Vocabulary(num_tokens).llama());
    BOOST_TEST(model->info().vocab_size == kNumRows);
    std::vector<Prompt> prompts;
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      Prompt prompt;
      prompt.ids = {static_cast<TokenId>(seed), 7};
      prompt.num_new = 250;
      prompt.sampling.temperature = 2;
      prompt.seed = seed;
      prompts.push_back(prompt);
    }
    std::size_t num_draws = 0;
    for (const Transcript& transcript : SequenceRunner(*model, {}, {}).run(prompts)) {
      num_draws += transcript.tokens.size();
      for (const TokenId token : transcript.tokens) {
        BOOST_TEST_REQUIRE(static_cast<std::uint32_t>(token) < num_tokens);
      }
      for (const TokenLogprob& entry : transcript.logprobs) {
        BOOST_TEST_REQUIRE(static_cast<std::uint32_t>(entry.token) < num_tokens);
      }
    }
    BOOST_TEST(num_draws == 2000U);
  }
}

BOOST_AUTO_TEST_CASE(d05_duplicates_and_merges_without_tokens_follow_a_rule) {
  Vocabulary vocabulary;
  vocabulary.tokens[290] = "hello";  // Merges make the first of two.
  vocabulary.merges.emplace_back("qq zz");
  const auto model = load_tiny_llama(vocabulary.llama());
  BOOST_TEST((model->tokenizer()->encode("hello", false) ==
              std::vector<TokenId>{SmallVocabulary::kHello}));
  BOOST_TEST(model->tokenizer()->bytes(290) == "hello");
  BOOST_TEST(outcome_of(vocabulary.llama()) == "");
}

BOOST_AUTO_TEST_CASE(d05_unknown_tokenizers_are_refused_by_name) {
  check_refused(
      Vocabulary().llama([](GgufBuilder& b) { b.string("tokenizer.ggml.pre", "no-such-rule"); }),
      {"tokenizer.ggml.pre", "\"no-such-rule\"", "supported"});
}

BOOST_AUTO_TEST_CASE(d05_begin_and_end_outside_of_the_vocabulary_are_refused) {
  for (const std::uint32_t id : {kNumRows, 0xffffffffU}) {
    for (const char* key : {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.bos_token_id"}) {
      check_refused(Vocabulary().llama([&](GgufBuilder& b) {
        b.u32(key, id).boolean("tokenizer.ggml.add_bos_token", true);
      }),
                    {key, std::to_string(id), "0 to 299"});
    }
  }
}

BOOST_AUTO_TEST_CASE(d05_lists_of_other_lengths_are_refused) {
  Vocabulary vocabulary;
  vocabulary.types.pop_back();
  check_refused(vocabulary.llama(), {"tokenizer.ggml.token_type", "299", "300"});
}

}  // namespace
}  // namespace tickertape::test
