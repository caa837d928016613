// PreTokenizer: words, lossless for any bytes.
#include "kernels/text/pre_tokenizer.hpp"

#include <boost/test/unit_test.hpp>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace tickertape::kernels::text {
namespace {

using Words = std::vector<std::string_view>;

Words split(std::string_view name, std::string_view text) {
  Words words;
  PreTokenizer::find(name)->split(text, words);
  return words;
}

std::string joined(const Words& words) {
  std::string text;
  for (const std::string_view word : words) text += word;
  return text;
}

BOOST_AUTO_TEST_SUITE(pre_tokenizer)

BOOST_AUTO_TEST_CASE(gpt2_words) {
  BOOST_TEST((split("gpt-2", "I'll pay  12.50, ok?\n\n") ==
              Words{"I", "'ll", " pay", " ", " 12", ".", "50", ",", " ok", "?", "\n\n"}));
}

BOOST_AUTO_TEST_CASE(smollm_cuts_digits_out) {
  BOOST_TEST((split("smollm", "a  12b 3") == Words{"a", "  ", "1", "2", "b", " ", "3"}));
  BOOST_TEST((split("smollm", "a  b") == Words{"a", " ", " b"}));
}

BOOST_AUTO_TEST_CASE(space_is_unicode_white_space) {
  // U+0085 is white space, U+180E has not been since Unicode 6.3.
  BOOST_TEST((split("gpt-2",
                    "a\xc2\x85"
                    "b") == Words{"a", "\xc2\x85", "b"}));
  BOOST_TEST((split("gpt-2", " \xe1\xa0\x8e") == Words{" \xe1\xa0\x8e"}));
}

BOOST_AUTO_TEST_CASE(unknown_names_have_no_splitter) {
  BOOST_TEST((PreTokenizer::find("llama-bpe") == nullptr));
  BOOST_TEST((PreTokenizer::find("") == nullptr));
}

BOOST_AUTO_TEST_CASE(bytes_that_are_not_utf8_are_words_of_their_own) {
  BOOST_TEST((split("smollm",
                    "ab\xff\xfe"
                    "cd\xe4\xbd") == Words{"ab", "\xff\xfe", "cd", "\xe4\xbd"}));
}

BOOST_AUTO_TEST_CASE(random_bytes_are_all_kept) {
  std::mt19937 random(21);
  for (int round = 0; round < 500; ++round) {
    std::string text(random() % 200, '\0');
    for (char& byte : text) byte = static_cast<char>(random() % (round % 2 == 0 ? 256 : 128));
    for (const char* name : {"gpt-2", "smollm"}) {
      const Words words = split(name, text);
      BOOST_TEST(joined(words) == text);
      for (const std::string_view word : words) BOOST_REQUIRE(!word.empty());
    }
  }
}

BOOST_AUTO_TEST_CASE(long_runs_are_one_word) {
  const std::size_t size = 1U << 20;
  const std::string cjk = [] {
    std::string text;
    for (int i = 0; i < 100000; ++i) text += "\xe6\x9d\xb1";
    return text;
  }();
  for (const char* name : {"gpt-2", "smollm"}) {
    for (const char byte : {'x', ' ', '\n', '!'}) {
      const std::string text(size, byte);
      BOOST_TEST(split(name, text).size() == 1U);
      BOOST_TEST(joined(split(name, text + "y")) == text + "y");
    }
    BOOST_TEST(split(name, cjk).size() == 1U);
  }
  BOOST_TEST(split("smollm", std::string(size, '7')).size() == size);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace tickertape::kernels::text
