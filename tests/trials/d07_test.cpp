// D07: a prompt begins with at most one begin token, and with one when the file asks for it.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include <tickertape/request.hpp>

#include "actors/preparer.hpp"
#include "tests/support/text_model.hpp"
#include "tests/unit/text/small_vocabulary.hpp"

namespace tickertape {
namespace {

const std::string kTurns =
    "{% for m in messages %}[{{ m.role }}]{{ m.content }}<|im_end|>{% endfor %}";

struct Case {
  bool add_begin;
  bool template_writes;
  long chat;        ///< Begin tokens in front of a chat prompt.
  long completion;  ///< ... of a text.
};

std::shared_ptr<const Model> model_of(const Case& with) {
  return std::make_shared<test::TextModel>(
      test::SmallVocabulary()
          .file()
          .u32("tokenizer.ggml.bos_token_id", test::SmallVocabulary::kStart)
          .boolean("tokenizer.ggml.add_bos_token", with.add_begin)
          .string("tokenizer.chat_template",
                  (with.template_writes ? "{{ bos_token }}" : "") + kTurns));
}

/// How many begin tokens the prompt starts with, and how many it has in all.
std::pair<long, long> begin_tokens(const Model& model, const Request& request) {
  const auto shared = std::shared_ptr<const Model>(std::shared_ptr<void>(), &model);
  const actors::Preparer preparer(shared, {4096, model.info().vocab_size, 1});
  const auto outcome = preparer.prepare(request);
  const auto* prepared = std::get_if<actors::Prepared>(&outcome);
  BOOST_REQUIRE(prepared != nullptr);
  const TokenId begin = test::SmallVocabulary::kStart;
  const auto other = std::find_if(prepared->ids.begin(), prepared->ids.end(),
                                  [&](TokenId id) { return id != begin; });
  return {other - prepared->ids.begin(),
          std::count(prepared->ids.begin(), prepared->ids.end(), begin)};
}

BOOST_AUTO_TEST_SUITE(d07)

BOOST_AUTO_TEST_CASE(never_two_and_never_one_too_few) {
  for (const Case& with : {Case{true, true, 1, 1}, Case{true, false, 1, 1}, Case{false, true, 1, 0},
                           Case{false, false, 0, 0}}) {
    BOOST_TEST_CONTEXT("add_bos " << with.add_begin << ", template " << with.template_writes) {
      const auto model = model_of(with);
      Request chat;
      chat.messages = {{"user", "hello"}};
      BOOST_TEST(begin_tokens(*model, chat).first == with.chat);
      // A message that starts with the token's text is text, wherever it stands.
      chat.messages = {{"user", "<|im_start|>hello"}};
      BOOST_TEST(begin_tokens(*model, chat).second == with.chat);
      Request completion;
      completion.prompt = "hello";
      BOOST_TEST(begin_tokens(*model, completion).first == with.completion);
      // A prompt of the caller's own may write the token; it is not doubled then.
      completion.prompt = "<|im_start|>hello";
      BOOST_TEST(begin_tokens(*model, completion).first == 1);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace tickertape
