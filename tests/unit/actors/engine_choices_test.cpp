// Engine: several choices, stop strings and logit processors of real requests.
#include <boost/test/unit_test.hpp>
#include <deque>
#include <memory>
#include <stdexcept>
#include <string>

#include "tests/support/engine_fixture.hpp"

namespace {

using namespace tickertape;
using namespace tickertape::test;

/// All tokens of a request, by choice.
struct Choices {
  explicit Choices(std::uint32_t n) : ids(n), text(n), last(n) {}
  std::vector<std::vector<TokenId>> ids;
  std::vector<std::string> text;
  std::vector<FinishReason> last;
  Finish finish;
};

asio::awaitable<void> ask_all(Engine& engine, Request request, Choices& answer) {
  TokenStream stream = co_await engine.async_submit(std::move(request), asio::use_awaitable);
  for (;;) {
    std::optional<Token> token = co_await stream.async_next(asio::use_awaitable);
    if (!token) break;
    BOOST_TEST(token->seq == answer.ids.at(token->index).size());
    BOOST_TEST((answer.last[token->index] == FinishReason::none));
    answer.ids[token->index].push_back(token->id);
    answer.text[token->index] += token->text;
    answer.last[token->index] = token->finish_reason;
  }
  answer.finish = stream.finish();
}

BOOST_AUTO_TEST_CASE(each_choice_is_the_request_with_that_choice_also_when_preempted) {
  for (const bool random : {false, true}) {
    EngineOptions options = tiny_options();
    options.prefill_chunk = 16;
    FakeEngine fake(options, random ? 200'000 : 0);
    asio::io_context io;
    constexpr std::uint32_t kNumRequests = 12;
    std::deque<Choices> answers;
    std::vector<Request> requests;
    for (std::uint32_t i = 0; i < kNumRequests; ++i) {
      Request request = varied_request(i, 80);
      request.sampling.temperature = random ? 1.0 : 0.0;
      request.n = 1 + i % 6;
      request.window = 1 + i * 7;
      answers.emplace_back(request.n);
      requests.push_back(request);
      asio::co_spawn(io, ask_all(*fake.engine, request, answers.back()), rethrow);
    }
    io.run();
    for (std::uint32_t i = 0; i < kNumRequests; ++i) {
      std::size_t num_tokens = 0;
      for (std::uint32_t choice = 0; choice < requests[i].n; ++choice) {
        const auto& ids = answers[i].ids[choice];
        num_tokens += ids.size();
        BOOST_TEST(ids == fake.expected(requests[i], choice), boost::test_tools::per_element());
        const ChoiceFinish& end = answers[i].finish.choices.at(choice);
        BOOST_TEST((end.reason == answers[i].last[choice]));
        BOOST_TEST(end.completion_tokens == ids.size());
      }
      BOOST_TEST(answers[i].finish.usage.completion_tokens == num_tokens);
      BOOST_TEST(answers[i].finish.usage.prompt_tokens == requests[i].prompt_ids.size());
    }
    BOOST_TEST(fake.engine->stats().preemptions > 0U);
    BOOST_TEST(fake.probe->copied_pages > 0U);
    BOOST_TEST(fake.probe->violations() == 0U);
    BOOST_TEST(idle_stats(*fake.engine).pages_held == 0U);
  }
}

BOOST_AUTO_TEST_CASE(a_stop_string_ends_the_text_before_it) {
  FakeEngine fake;
  Request request = varied_request(3, 60);  // ignore_eos: 60 tokens without the stop string.
  const Answer whole = ask_alone(*fake.engine, request);
  BOOST_REQUIRE(whole.ids.size() == 60U);
  // Two bytes in the middle, where they first appear, are the stop string.
  const std::string stop = whole.text.substr(whole.text.size() / 2, 2);
  request.stop = {"\n\n", stop};
  const Answer cut = ask_alone(*fake.engine, request);
  BOOST_TEST(cut.text == whole.text.substr(0, whole.text.find(stop)));
  BOOST_TEST((cut.finish.reason == FinishReason::stop));
  BOOST_TEST(cut.finish.choices.at(0).stop == stop);
  BOOST_TEST(cut.ids.size() < 60U);
  request.include_stop_str_in_output = true;
  const Answer with_stop = ask_alone(*fake.engine, request);
  BOOST_TEST(with_stop.text == cut.text + stop);
  // It frees its pages like any other.
  BOOST_TEST(idle_stats(*fake.engine).pages_held == 0U);
}

BOOST_AUTO_TEST_CASE(a_stop_token_ends_without_its_text) {
  FakeEngine fake;
  Request request = varied_request(3, 60);
  const std::vector<TokenId> ids = fake.expected(request);
  const TokenId stop = ids.at(20);
  std::size_t first = 0;
  while (ids[first] != stop) ++first;
  request.sampling.stop_token_ids = {stop, 999};
  const Answer answer = ask_alone(*fake.engine, request);
  BOOST_TEST(answer.ids.size() == first + 1);
  BOOST_TEST((answer.finish.reason == FinishReason::stop));
  BOOST_TEST(answer.finish.choices.at(0).stop_token == stop);
}

/// Allows one token only, or fails.
class OnlyToken final : public LogitProcessor {
 public:
  explicit OnlyToken(TokenId token) : token_(token) {}
  void process(const LogitContext& context, std::span<float> logits) const override {
    if (context.generated.size() == 3 && token_ < 0) throw std::runtime_error("no idea");
    if (token_ < 0) return;
    for (std::size_t i = 0; i < logits.size(); ++i) {
      if (static_cast<TokenId>(i) != token_) logits[i] = -std::numeric_limits<float>::infinity();
    }
  }

 private:
  TokenId token_;
};

BOOST_AUTO_TEST_CASE(a_logit_processor_decides_for_its_request_only) {
  FakeEngine fake;
  asio::io_context io;
  Request ruled = varied_request(3, 10);
  ruled.logit_processor = std::make_shared<OnlyToken>(42);
  const Request free = varied_request(6, 40);
  Request failing = varied_request(9, 40);
  failing.logit_processor = std::make_shared<OnlyToken>(-1);
  Answer ruled_answer;
  Answer free_answer;
  Answer failing_answer;
  asio::co_spawn(io, ask(*fake.engine, ruled, ruled_answer), rethrow);
  asio::co_spawn(io, ask(*fake.engine, free, free_answer), rethrow);
  asio::co_spawn(io, ask(*fake.engine, failing, failing_answer), rethrow);
  io.run();
  BOOST_TEST(ruled_answer.ids == std::vector<TokenId>(10, 42), boost::test_tools::per_element());
  BOOST_TEST(free_answer.ids == fake.expected(free), boost::test_tools::per_element());
  BOOST_TEST(failing_answer.ids.size() == 3U);
  BOOST_TEST((failing_answer.finish.reason == FinishReason::error));
  BOOST_TEST(failing_answer.finish.error.message.find("no idea") != std::string::npos);
  BOOST_TEST(idle_stats(*fake.engine).pages_held == 0U);
}

}  // namespace
