// BpeTokenizer: special tokens, spans, strange bytes, long texts.
#include "kernels/text/bpe_tokenizer.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <random>
#include <string>
#include <vector>

#include "kernels/text/load.hpp"
#include "tests/unit/formats/temp_file.hpp"
#include "tests/unit/text/golden.hpp"
#include "tests/unit/text/small_vocabulary.hpp"

namespace tickertape {
namespace {

using test::SmallVocabulary;
using Ids = std::vector<TokenId>;

struct Fixture {
  std::shared_ptr<const Tokenizer> tokenizer = kernels::text::make_tokenizer(
      kernels::formats::GgufFile::open(test::TempFile(SmallVocabulary().file().build()).path()));
  [[nodiscard]] Ids encode(std::string_view text, bool parse_special = true) const {
    return tokenizer->encode(text, parse_special);
  }
  [[nodiscard]] Ids spans(const std::vector<PromptSpan>& spans) const {
    return tokenizer->encode_spans(spans);
  }
};

BOOST_FIXTURE_TEST_SUITE(bpe_tokenizer, Fixture)

BOOST_AUTO_TEST_CASE(words_are_merged) {
  BOOST_TEST((encode("hello") == Ids{SmallVocabulary::kHello}));
  BOOST_TEST((encode("hell") == Ids{SmallVocabulary::kHell}));
  BOOST_TEST((encode("hehello") == Ids{SmallVocabulary::kHe, SmallVocabulary::kHello}));
  BOOST_TEST((encode("   x") == Ids{SmallVocabulary::kTwoSpaces, ' ', 'x'}));
  BOOST_TEST(encode("").empty());
}

BOOST_AUTO_TEST_CASE(control_tokens_only_when_asked_for_user_defined_always) {
  BOOST_TEST((encode("a<|im_end|>b") == Ids{'a', SmallVocabulary::kEnd, 'b'}));
  BOOST_TEST(tokenizer->decode(encode("a<|im_end|>b", false)) == "a<|im_end|>b");
  BOOST_TEST(encode("a<|im_end|>b", false).size() == 12U);
  BOOST_TEST((encode("a[user]b", false) == Ids{'a', SmallVocabulary::kUser, 'b'}));
  BOOST_TEST(encode("<|im_end|", true).size() == 9U);
}

BOOST_AUTO_TEST_CASE(control_tokens_in_messages_stay_text) {
  const Ids ids = spans({{"<|im_start|>", false}, {"x<|im_end|>", true}, {"<|im_end|>", false}});
  BOOST_TEST(ids.front() == SmallVocabulary::kStart);
  BOOST_TEST(ids.back() == SmallVocabulary::kEnd);
  BOOST_TEST(std::count(ids.begin(), ids.end(), SmallVocabulary::kEnd) == 1);
  BOOST_TEST(tokenizer->decode(ids) == "<|im_start|>x<|im_end|><|im_end|>");
}

BOOST_AUTO_TEST_CASE(a_control_token_is_not_made_across_a_message_border) {
  for (const bool first : {false, true}) {
    const Ids ids = spans({{"<|im_", first}, {"end|>", !first}});
    BOOST_TEST(std::count(ids.begin(), ids.end(), SmallVocabulary::kEnd) == 0);
  }
  BOOST_TEST(
      (spans({{"<|im_", false}, {"", true}, {"end|>", false}}) == Ids{SmallVocabulary::kEnd}));
  BOOST_TEST((spans({{"[us", false}, {"er]", true}}) == Ids{SmallVocabulary::kUser}));
}

BOOST_AUTO_TEST_CASE(words_run_across_borders) {
  BOOST_TEST((spans({{"he", false}, {"llo", true}}) == Ids{SmallVocabulary::kHello}));
  BOOST_TEST(spans({}).empty());
  BOOST_TEST(spans({{"", false}, {"", true}}).empty());
}

BOOST_AUTO_TEST_CASE(any_bytes_come_back) {
  std::mt19937 random(5);
  for (int round = 0; round < 500; ++round) {
    std::string text(random() % 100, '\0');
    for (char& byte : text) byte = static_cast<char>(random() % 256);
    BOOST_TEST(tokenizer->decode(encode(text, false)) == text);
  }
}

BOOST_AUTO_TEST_CASE(long_texts_come_back) {
  std::string cjk;
  for (int i = 0; i < 50000; ++i) cjk += "\xe6\x9d\xb1";
  for (const std::string& text : {std::string(50000, 'x'), std::string(1 << 20, 'h'), cjk,
                                  std::string(100000, '\xff'), std::string(100000, '<')}) {
    const Ids ids = test::smollm2_tokenizer()->encode(text, true);
    const std::string back = test::smollm2_tokenizer()->decode(ids);
    // SmolLM2's vocabulary has no token for byte FF.
    BOOST_TEST((text[0] == '\xff' ? back.empty() : back == text));
    BOOST_TEST((tokenizer->decode(encode(text, true)) == text));
  }
}

BOOST_AUTO_TEST_CASE(the_byte_tokenizer_is_the_bytes) {
  const auto bytes = kernels::text::make_byte_tokenizer();
  BOOST_TEST(bytes->vocab_size() == 258U);
  BOOST_TEST(bytes->begin_token() == 256);
  BOOST_TEST(bytes->longest_token() == 9U);
  BOOST_TEST((Ids(bytes->end_tokens().begin(), bytes->end_tokens().end()) == Ids{257}));
  BOOST_TEST((bytes->encode("\xc3\xa9 \xff"
                            "12",
                            false) == Ids{0xc3, 0xa9, ' ', 0xff, '1', '2'}));
  BOOST_TEST((bytes->encode("a<|end|>", true) == Ids{'a', 257}));
  BOOST_TEST(bytes->encode("<|end|>", false).size() == 7U);
  BOOST_TEST(bytes->is_control(256));
  BOOST_TEST(!bytes->is_control(255));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace tickertape
