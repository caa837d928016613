// Loading of tokenizers: what files may say, and how they are refused.
#include "kernels/text/load.hpp"

#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "tests/unit/formats/temp_file.hpp"
#include "tests/unit/text/golden.hpp"
#include "tests/unit/text/small_vocabulary.hpp"

namespace tickertape {
namespace {

using kernels::formats::GgufFile;
using kernels::text::make_tokenizer;
using test::GgufBuilder;
using test::SmallVocabulary;
using test::TempFile;
using Ids = std::vector<TokenId>;

std::shared_ptr<const Tokenizer> load(const GgufBuilder& builder) {
  return make_tokenizer(GgufFile::open(TempFile(builder.build()).path()));
}

std::string refusal(const GgufBuilder& builder) {
  try {
    static_cast<void>(load(builder));
  } catch (const Error& error) {
    BOOST_TEST((error.info().code == Errc::invalid_model));
    return error.what();
  }
  return {};
}

bool says(const std::string& message, std::string_view part) {
  return message.find(part) != std::string::npos;
}

Ids ends(const Tokenizer& tokenizer) {
  return {tokenizer.end_tokens().begin(), tokenizer.end_tokens().end()};
}

BOOST_AUTO_TEST_SUITE(load_tokenizer)

BOOST_AUTO_TEST_CASE(a_file_without_a_tokenizer_has_none) {
  BOOST_TEST(load(GgufBuilder()) == nullptr);
  BOOST_TEST(load(GgufBuilder().string("tokenizer.ggml.model", "no_vocab")) == nullptr);
}

BOOST_AUTO_TEST_CASE(unknown_models_and_pre_tokenizers_are_refused_by_key) {
  BOOST_TEST(says(refusal(GgufBuilder().string("tokenizer.ggml.model", "llama")),
                  "tokenizer.ggml.model is \"llama\""));
  BOOST_TEST(says(refusal(SmallVocabulary().file().string("tokenizer.ggml.pre", "qwen9")),
                  "tokenizer.ggml.pre is \"qwen9\""));
  BOOST_TEST(refusal(SmallVocabulary().file().string("tokenizer.ggml.pre", "gpt-2")).empty());
}

BOOST_AUTO_TEST_CASE(missing_and_empty_lists_are_refused) {
  const GgufBuilder start = GgufBuilder().string("tokenizer.ggml.model", "gpt2");
  BOOST_TEST(says(refusal(start), "tokenizer.ggml.tokens is missing"));
  BOOST_TEST(says(refusal(GgufBuilder(start).strings("tokenizer.ggml.tokens", {})), "is empty"));
  BOOST_TEST(says(refusal(GgufBuilder(start).strings("tokenizer.ggml.tokens", {"a"})),
                  "tokenizer.ggml.merges is missing"));
}

BOOST_AUTO_TEST_CASE(types_must_fit_the_tokens) {
  SmallVocabulary vocabulary;
  vocabulary.types.pop_back();
  BOOST_TEST(says(refusal(vocabulary.file()), "has 263 entries"));
  vocabulary.types.push_back(7);
  BOOST_TEST(says(refusal(vocabulary.file()), "unknown type 7"));
  vocabulary.types.back() = -1;
  BOOST_TEST(says(refusal(vocabulary.file()), "unknown type -1"));
  vocabulary.types.back() = 0;
  BOOST_TEST(refusal(vocabulary.file()).empty());
}

BOOST_AUTO_TEST_CASE(ids_must_be_in_the_vocabulary) {
  const auto size = static_cast<std::uint32_t>(SmallVocabulary().tokens.size());
  for (const char* key : {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id",
                          "tokenizer.ggml.eom_token_id"}) {
    BOOST_TEST(says(refusal(SmallVocabulary().file().u32(key, size)), key));
  }
  const GgufBuilder add_begin =
      SmallVocabulary().file().boolean("tokenizer.ggml.add_bos_token", true);
  BOOST_TEST(says(refusal(add_begin), "bos_token_id is missing"));
  BOOST_TEST(says(refusal(GgufBuilder(add_begin).u32("tokenizer.ggml.bos_token_id", size)),
                  "bos_token_id"));
}

BOOST_AUTO_TEST_CASE(the_begin_token_is_added_only_when_the_file_says_so) {
  const GgufBuilder named = SmallVocabulary().file().u32("tokenizer.ggml.bos_token_id", 5);
  BOOST_TEST(load(named)->begin_token() == -1);
  BOOST_TEST(
      load(GgufBuilder(named).boolean("tokenizer.ggml.add_bos_token", false))->begin_token() == -1);
  BOOST_TEST(
      load(GgufBuilder(named).boolean("tokenizer.ggml.add_bos_token", true))->begin_token() == 5);
}

BOOST_AUTO_TEST_CASE(the_end_tokens_are_a_sorted_union) {
  BOOST_TEST((ends(*load(SmallVocabulary().file())) == Ids{SmallVocabulary::kEnd}));
  BOOST_TEST((ends(*load(SmallVocabulary()
                             .file()
                             .u32("tokenizer.ggml.eos_token_id", 7)
                             .u32("tokenizer.ggml.eot_token_id", 3)
                             .u32("tokenizer.ggml.eom_token_id", 7))) ==
              Ids{3, 7, SmallVocabulary::kEnd}));
}

BOOST_AUTO_TEST_CASE(the_first_of_equal_tokens_is_used_and_both_decode) {
  SmallVocabulary vocabulary;
  const int second = vocabulary.add("hello");
  const auto tokenizer = load(vocabulary.file());
  BOOST_TEST((tokenizer->encode("hello", false) == Ids{SmallVocabulary::kHello}));
  BOOST_TEST(tokenizer->bytes(second) == "hello");
}

BOOST_AUTO_TEST_CASE(merges_of_unknown_tokens_are_passed_over) {
  SmallVocabulary vocabulary;
  vocabulary.merges.insert(vocabulary.merges.begin(), {"h el", "l o", "nope l"});
  BOOST_TEST((load(vocabulary.file())->encode("hello", false) == Ids{SmallVocabulary::kHello}));
}

BOOST_AUTO_TEST_CASE(merges_that_are_no_pairs_are_refused) {
  for (const char* merge : {"hello", "h e l", ""}) {
    SmallVocabulary vocabulary;
    vocabulary.merges.emplace_back(merge);
    BOOST_TEST(says(refusal(vocabulary.file()), "no pair at entry 5"));
  }
}

// A merge that spells a control token must not make one.
BOOST_AUTO_TEST_CASE(merges_never_make_control_tokens) {
  SmallVocabulary vocabulary;
  vocabulary.add("<!", SmallVocabulary::kControl);
  vocabulary.merges.emplace_back("< !");
  BOOST_TEST((load(vocabulary.file())->encode("<!", false) == Ids{'<', '!'}));
}

BOOST_AUTO_TEST_CASE(ordinary_tokens_outside_of_the_byte_alphabet_decode_as_written) {
  SmallVocabulary vocabulary;
  const int id = vocabulary.add("\xe6\x9d\xb1 x");
  BOOST_TEST(load(vocabulary.file())->bytes(id) == "\xe6\x9d\xb1 x");
}

BOOST_AUTO_TEST_CASE(the_real_model) {
  const auto& tokenizer = *test::smollm2_tokenizer();
  BOOST_TEST(tokenizer.vocab_size() == 49152U);
  BOOST_TEST(tokenizer.begin_token() == -1);
  BOOST_TEST(((ends(tokenizer) == Ids{0, 2})));
  BOOST_TEST(tokenizer.is_control(2));
  BOOST_TEST(tokenizer.bytes(2) == "<|im_end|>");
  BOOST_TEST(tokenizer.longest_token() >= 16U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace tickertape
