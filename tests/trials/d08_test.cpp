// D08: every token that ends a turn is known as an end, whichever of them the file names.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "tests/support/text_model.hpp"
#include "tests/unit/text/golden.hpp"
#include "tests/unit/text/small_vocabulary.hpp"

namespace tickertape {
namespace {

using test::SmallVocabulary;

/// The texts of the end tokens.
std::vector<std::string> ends_of(const Tokenizer& tokenizer) {
  std::vector<std::string> texts;
  for (const TokenId id : tokenizer.end_tokens()) {
    BOOST_TEST(tokenizer.is_control(id));
    texts.emplace_back(tokenizer.bytes(id));
  }
  std::sort(texts.begin(), texts.end());
  return texts;
}

struct Family {
  std::vector<std::string> control;
  std::string named;  ///< eos_token_id of the file.
  std::string chat_template;
  std::vector<std::string> ends;
};

std::vector<std::string> ends_of(const Family& family) {
  SmallVocabulary vocabulary;
  vocabulary.tokens[SmallVocabulary::kEnd] = "<unused>";
  std::uint32_t named = 0;
  for (const std::string& token : family.control) {
    const int id = vocabulary.add(token, SmallVocabulary::kControl);
    if (token == family.named) named = static_cast<std::uint32_t>(id);
  }
  test::GgufBuilder file = vocabulary.file();
  file.u32("tokenizer.ggml.eos_token_id", named);
  if (!family.chat_template.empty()) file.string("tokenizer.chat_template", family.chat_template);
  return ends_of(*test::TextModel(file).tokenizer());
}

BOOST_AUTO_TEST_SUITE(d08)

BOOST_AUTO_TEST_CASE(the_end_set_is_a_union_for_every_family) {
  const auto turns = [](const std::string& end) {
    return "{% for m in messages %}<" + std::string("t>{{ m.content }}") + end + "\n{% endfor %}";
  };
  const Family families[] = {
      {{"<|im_begin|>", "<|im_end|>", "<|endoftext|>"},
       "<|endoftext|>",
       turns("<|im_end|>"),
       {"<|endoftext|>", "<|im_end|>"}},
      {{"<|im_end|>", "<|endoftext|>"}, "<|im_end|>", "", {"<|endoftext|>", "<|im_end|>"}},
      {{"<|eot_id|>", "<|end_of_text|>", "<|eom_id|>"},
       "<|end_of_text|>",
       turns("<|eot_id|>"),
       {"<|end_of_text|>", "<|eom_id|>", "<|eot_id|>"}},
      {{"<end_of_turn>", "<eos>", "<bos>"},
       "<eos>",
       turns("<end_of_turn>"),
       {"<end_of_turn>", "<eos>"}},
      {{"<|end|>", "<|endoftext|>"},
       "<|endoftext|>",
       turns("<|end|>"),
       {"<|endoftext|>", "<|end|>"}},
      // A marker that nobody knows, found in what the template writes behind an answer.
      {{"[FIN]", "[FIN_OF_ALL]", "<x>"}, "<x>", turns(" [FIN_OF_ALL]"), {"<x>", "[FIN_OF_ALL]"}},
      // Here <|end|> closes a part of an answer.
      {{"<|return|>", "<|end|>", "<|call|>"},
       "<|return|>",
       turns("<|end|>"),
       {"<|call|>", "<|return|>"}},
      // A template that cannot be rendered, or read, adds nothing.
      {{"<x>", "<y>"}, "<x>", "{{ raise_exception('no') }}<y>", {"<x>"}},
      {{"<x>", "<y>"}, "<x>", "{% if %}<y>", {"<x>"}}};
  for (const Family& family : families) {
    BOOST_TEST_CONTEXT(family.chat_template << family.named) {
      BOOST_TEST(ends_of(family) == family.ends, boost::test_tools::per_element());
    }
  }
}

// The text of a marker that is an ordinary token of a vocabulary ends nothing.
BOOST_AUTO_TEST_CASE(ordinary_tokens_never_end_a_generation) {
  SmallVocabulary vocabulary;
  vocabulary.add("<|eot_id|>", SmallVocabulary::kUserDefined);
  const auto file = vocabulary.file().string(
      "tokenizer.chat_template", "{% for m in messages %}{{ m.content }}<|eot_id|>{% endfor %}");
  BOOST_TEST(ends_of(*test::TextModel(file).tokenizer()) == std::vector<std::string>{"<|im_end|>"},
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_real_model_has_its_turn_end_and_its_text_end) {
  BOOST_TEST(ends_of(*test::smollm2_tokenizer()) ==
                 (std::vector<std::string>{"<|endoftext|>", "<|im_end|>"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace tickertape
