// C09: no end before min_tokens, whatever would end it; the prompt's length does not count.
#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "tests/support/real_model.hpp"
#include "tests/support/recorded.hpp"

namespace tickertape::test {
namespace {

/// A question that is answered in a few tokens.
Request short_answer(const std::string& before = "") {
  Request request;
  request.prompt =
      "<|im_start|>user\n" + before + "Say only: ok<|im_end|>\n<|im_start|>assistant\n";
  request.max_tokens = 40;
  request.sampling.temperature = 0;
  return request;
}

std::uint32_t length_of(Engine& engine, const Request& request) {
  const Recorded recorded = record_alone(engine, request);
  BOOST_TEST(recorded.ids().size() == recorded.finish.usage.completion_tokens);
  return recorded.finish.usage.completion_tokens;
}

BOOST_AUTO_TEST_CASE(c09_min_tokens_holds) {
  Engine engine(real_model(), small_pool());
  Request request = short_answer();
  const std::uint32_t plain = length_of(engine, request);
  BOOST_TEST(plain < 30U);  // Or the trial shows nothing.
  request.sampling.min_tokens = 30;
  BOOST_TEST(length_of(engine, request) >= 30U);

  // Stop strings and stop tokens wait as well.
  const std::vector<TokenId> answer = record_alone(engine, request).ids();
  request.sampling.stop_token_ids = {answer[3], answer[20]};
  BOOST_TEST(length_of(engine, request) >= 30U);
  request.sampling.stop_token_ids.clear();
  request.stop = {".", "o", " "};
  BOOST_TEST(length_of(engine, request) >= 30U);

  std::string words;
  for (int i = 0; i < 280; ++i) words += "word ";
  request = short_answer(words);
  request.sampling.min_tokens = 30;
  const Recorded long_prompt = record_alone(engine, request);
  BOOST_TEST(long_prompt.finish.usage.prompt_tokens >= 280U);
  BOOST_TEST(long_prompt.ids().size() >= 30U);
}

BOOST_AUTO_TEST_CASE(c09_more_than_max_tokens_is_refused) {
  Engine engine(real_model(), small_pool());
  Request request = short_answer();
  request.sampling.min_tokens = 41;
  const Recorded recorded = record_alone(engine, request);
  BOOST_TEST((recorded.finish.error.code == Errc::invalid_request));
  BOOST_TEST(recorded.finish.error.param == "min_tokens");
  BOOST_TEST(recorded.choices.empty());
}

}  // namespace
}  // namespace tickertape::test
