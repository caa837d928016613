// D09: token ids equal the reference tokenizer's, id for id.
#include <boost/test/unit_test.hpp>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tests/unit/formats/gguf_builder.hpp"
#include "tests/unit/formats/temp_file.hpp"
#include "tests/unit/text/golden.hpp"

namespace tickertape {
namespace {

using test::GoldenText;
using test::smollm2_tokenizer;

BOOST_AUTO_TEST_SUITE(d09)

BOOST_AUTO_TEST_CASE(every_golden_text_has_the_reference_ids) {
  const std::vector<GoldenText> texts = test::smollm2_texts();
  BOOST_TEST(texts.size() >= 43U);
  for (const GoldenText& golden : texts) {
    BOOST_TEST_CONTEXT(golden.text) {
      BOOST_TEST(smollm2_tokenizer()->encode(golden.text, true) == golden.ids,
                 boost::test_tools::per_element());
    }
  }
}

/// The model's vocabulary with another pre-tokenizer.
std::shared_ptr<const Tokenizer> with_pre_tokenizer(std::string_view name) {
  const auto strings = [](std::string_view key) {
    const auto span = test::smollm2_file().get_string_array(key);
    return std::vector<std::string>(span.begin(), span.end());
  };
  const test::TempFile file(
      test::GgufBuilder()
          .string("tokenizer.ggml.model", "gpt2")
          .string("tokenizer.ggml.pre", name)
          .strings("tokenizer.ggml.tokens", strings("tokenizer.ggml.tokens"))
          .strings("tokenizer.ggml.merges", strings("tokenizer.ggml.merges"))
          .i32s("tokenizer.ggml.token_type",
                test::smollm2_file().get_i32_array("tokenizer.ggml.token_type"))
          .build());
  return kernels::text::make_tokenizer(kernels::formats::GgufFile::open(file.path()));
}

// 320 texts: runs of spaces, digits, scripts, emoji, code, control tokens, random mixtures.
BOOST_AUTO_TEST_CASE(both_pre_tokenizers_agree_with_the_reference) {
  const nlohmann::json golden =
      nlohmann::json::parse(std::ifstream(TICKERTAPE_TEST_DATA "/smollm2-tokenizer.json"));
  BOOST_TEST(golden.at("texts").size() >= 300U);
  for (const char* name : {"smollm", "gpt-2"}) {
    const auto tokenizer = with_pre_tokenizer(name);
    for (const nlohmann::json& entry : golden.at("texts")) {
      const std::string text = entry.at("text");
      BOOST_TEST_CONTEXT(name << ": " << text) {
        BOOST_TEST(tokenizer->encode(text, true) == entry.at(name).get<std::vector<TokenId>>(),
                   boost::test_tools::per_element());
      }
    }
  }
}

// The chat prompts of the reference, as our own template renders them from messages.
BOOST_AUTO_TEST_CASE(rendered_chats_have_the_reference_text_and_ids) {
  const auto chat_template = kernels::text::make_chat_template(test::smollm2_file());
  BOOST_REQUIRE(chat_template != nullptr);
  for (const nlohmann::json& chat : test::smollm2_golden().at("chat")) {
    const std::string text = chat.at("text");
    const std::string opening = "<|im_start|>user\n";
    const std::size_t begin = text.find(opening) + opening.size();
    const std::string content = text.substr(begin, text.find("<|im_end|>", begin) - begin);
    const std::vector<ChatMessage> messages = {{"user", content}};
    const std::vector<PromptSpan> spans = chat_template->render(messages, {});
    std::string rendered;
    for (const PromptSpan& span : spans) rendered += span.text;
    BOOST_TEST(rendered == text);
    BOOST_TEST(smollm2_tokenizer()->encode_spans(spans) == chat.at("ids"),
               boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace tickertape
