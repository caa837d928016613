// The paged fake's tokenizer.
#include <boost/test/unit_test.hpp>

#include <tickertape/fake.hpp>
#include <tickertape/model.hpp>

using namespace tickertape;

BOOST_AUTO_TEST_SUITE(fake_tokenizer)

BOOST_AUTO_TEST_CASE(text_round_trips) {
  const auto tokenizer = make_paged_fake_model()->tokenizer();
  std::string text;
  for (int byte = 0; byte < 256; ++byte) text.push_back(static_cast<char>(byte));
  const auto ids = tokenizer->encode(text, false);
  BOOST_TEST(ids.size() == 256U);
  BOOST_TEST((tokenizer->decode(ids) == text));
  BOOST_TEST(tokenizer->bytes(999) == "[999]");
  BOOST_TEST(tokenizer->vocab_size() == 1000U);
  BOOST_TEST(tokenizer->longest_token() == 7U);
}

BOOST_AUTO_TEST_CASE(the_end_is_a_control_token_unless_a_message_writes_it) {
  const auto tokenizer = make_paged_fake_model()->tokenizer();
  BOOST_TEST(tokenizer->is_control(0));
  BOOST_TEST(!tokenizer->is_control(1));
  BOOST_TEST(tokenizer->end_tokens().size() == 1U);
  BOOST_TEST(tokenizer->end_tokens()[0] == 0);
  BOOST_TEST(tokenizer->encode("a<|end|>", true) == (std::vector<TokenId>{98, 0}));
  BOOST_TEST(tokenizer->encode("<|end|>", false).size() == 7U);
  const std::vector<PromptSpan> spans{{"<|end|>", false}, {"<|end|>", true}};
  BOOST_TEST(tokenizer->encode_spans(spans).size() == 8U);
}

BOOST_AUTO_TEST_CASE(small_vocabularies_fold_bytes) {
  PagedFakeOptions options;
  options.vocab_size = 10;
  const auto tokenizer = make_paged_fake_model(options)->tokenizer();
  for (const TokenId id : tokenizer->encode("any \xff text", false)) {
    BOOST_TEST(id >= 1);
    BOOST_TEST(id < 10);
  }
}

BOOST_AUTO_TEST_SUITE_END()
