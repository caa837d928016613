// encode_submit: what a client sends is what the server's reader understands.
#include "net/remote_request.hpp"

#include <boost/test/unit_test.hpp>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "net/client_frame.hpp"

namespace tickertape::net {
namespace {

/// The request as it arrives at a server.
SubmitFields sent(const Request& request) {
  std::string text;
  const auto refusal = encode_submit("7", request, text);
  BOOST_REQUIRE_MESSAGE(!refusal, refusal->message);
  FrameReader reader(1U << 20, {"m", 1000});
  auto result = reader.read(text);
  const auto* bad = std::get_if<BadFrame>(&result);
  BOOST_REQUIRE_MESSAGE(bad == nullptr, text << ": " << (bad ? bad->error.message : ""));
  const auto& frame = std::get<ClientFrame>(result);
  BOOST_TEST((frame.type == ClientFrame::Type::submit));
  BOOST_TEST(frame.id == "7");
  return frame.submit;
}

std::string refused(const Request& request) {
  std::string text;
  const auto refusal = encode_submit("7", request, text);
  BOOST_REQUIRE(refusal);
  return refusal->param;
}

SamplingParams unusual_sampling() {
  SamplingParams out;
  out.temperature = 0.1;
  out.top_p = 0.2;
  out.top_k = 3;
  out.min_p = 0.4;
  out.typical_p = 0.5;
  out.repetition_penalty = 1.6;
  out.frequency_penalty = -0.7;
  out.presence_penalty = 0.8;
  out.logit_bias = {{9, -100}, {999, 0.1F}};
  out.allowed_token_ids = {9, 999};
  out.stop_token_ids = {10, 11};
  out.ignore_eos = true;
  out.min_tokens = 12;
  out.seed = ~std::uint64_t{0};
  out.logprobs = 0;
  return out;
}

BOOST_AUTO_TEST_SUITE(remote_request)

BOOST_AUTO_TEST_CASE(defaults_stay_defaults) {
  Request request;
  request.prompt = "x";
  const SubmitFields got = sent(request);
  BOOST_TEST(got.request.prompt == "x");
  BOOST_TEST(got.request.max_tokens == request.max_tokens);
  BOOST_TEST(got.request.sampling.temperature == 1.0);
  BOOST_TEST(!got.request.sampling.seed);
  BOOST_TEST(got.request.sampling.logprobs == -1);
  BOOST_TEST(got.request.n == 1U);
  BOOST_TEST(got.window.value() == request.window);
  BOOST_TEST(!got.notices);
}

BOOST_AUTO_TEST_CASE(sampling_arrives) {
  Request request;
  request.prompt_ids = {1, 2, 3};
  request.sampling = unusual_sampling();
  const SubmitFields got = sent(request);
  const SamplingParams& sampling = got.request.sampling;
  BOOST_TEST(got.request.prompt_ids == request.prompt_ids);
  BOOST_TEST(sampling.temperature == 0.1);
  BOOST_TEST(sampling.top_p == 0.2);
  BOOST_TEST(sampling.top_k == 3);
  BOOST_TEST(sampling.min_p == 0.4);
  BOOST_TEST(sampling.typical_p == 0.5);
  BOOST_TEST(sampling.repetition_penalty == 1.6);
  BOOST_TEST(sampling.frequency_penalty == -0.7);
  BOOST_TEST(sampling.presence_penalty == 0.8);
  BOOST_TEST((sampling.logit_bias == request.sampling.logit_bias));
  BOOST_TEST(sampling.allowed_token_ids == request.sampling.allowed_token_ids);
  BOOST_TEST(sampling.stop_token_ids == request.sampling.stop_token_ids);
  BOOST_TEST(sampling.ignore_eos);
  BOOST_TEST(sampling.min_tokens == 12U);
  BOOST_TEST(sampling.seed.value() == ~std::uint64_t{0});
  BOOST_TEST(sampling.logprobs == 0);
}

BOOST_AUTO_TEST_CASE(the_rest_arrives) {
  Request request;
  ChatMessage call{"assistant", "", R"({"tool_calls":[{"id":"1"}]})"};
  request.messages = {{"user", "h\"\n\xC3\xA9"}, call, {"tool", "2", R"({"tool_call_id":"1"})"}};
  request.chat.add_generation_prompt = false;
  request.chat.continue_final_message = true;
  request.chat.variables = R"({"thinking":true})";
  request.max_tokens = 7;
  request.stop = {"\n", "b"};
  request.include_stop_str_in_output = true;
  request.n = 3;
  request.prompt_logprobs = 2;
  request.priority = -4;
  request.deadline_ms = 1500.5;
  request.label = "me";
  request.window = 8;
  request.on_notice = [](const Notice&) {};
  const SubmitFields got = sent(request);
  BOOST_REQUIRE(got.request.messages.size() == 3U);
  BOOST_TEST(got.request.messages[0].content == request.messages[0].content);
  BOOST_TEST(got.request.messages[1].fields == call.fields);
  BOOST_TEST(got.request.messages[2].fields == R"({"tool_call_id":"1"})");
  BOOST_TEST(!got.request.chat.add_generation_prompt);
  BOOST_TEST(got.request.chat.continue_final_message);
  BOOST_TEST(got.request.chat.variables == request.chat.variables);
  BOOST_TEST(got.request.max_tokens == 7U);
  BOOST_TEST(got.request.stop == request.stop);
  BOOST_TEST(got.request.include_stop_str_in_output);
  BOOST_TEST(got.request.n == 3U);
  BOOST_TEST(got.request.prompt_logprobs == 2);
  BOOST_TEST(got.request.priority == -4);
  BOOST_TEST(got.request.deadline_ms.value() == 1500.5);
  BOOST_TEST(got.request.label == "me");
  BOOST_TEST(got.window.value() == 8U);
  BOOST_TEST(got.notices);
}

class NoChange final : public LogitProcessor {
 public:
  void process(const LogitContext&, std::span<float>) const override {}
};

BOOST_AUTO_TEST_CASE(what_cannot_be_said_is_refused) {
  Request request;
  request.prompt = "x";
  request.sampling.temperature = std::numeric_limits<double>::quiet_NaN();
  BOOST_TEST(refused(request) == "temperature");
  request = {};
  request.sampling.logit_bias = {{1, std::numeric_limits<float>::infinity()}};
  BOOST_TEST(refused(request) == "logit_bias");
  request.sampling.logit_bias = {{1, 1}, {1, 2}};
  BOOST_TEST(refused(request) == "logit_bias");
  request = {};
  request.prompt = "\xC3\x28";
  BOOST_TEST(refused(request) == "prompt");
  request = {};
  request.messages = {{"user", "\xFF"}};
  BOOST_TEST(refused(request) == "messages");
  request.messages = {{"user", "x", "[]"}};
  BOOST_TEST(refused(request) == "messages[0].fields");
  request.messages = {{"user", "x"}};
  request.chat.variables = "nonsense";
  BOOST_TEST(refused(request) == "chat_template_kwargs");
  request = {};
  request.logit_processor = std::make_shared<NoChange>();
  std::string text;
  const auto refusal = encode_submit("7", request, text);
  BOOST_REQUIRE(refusal);
  BOOST_TEST((refusal->code == Errc::not_supported));
  BOOST_TEST(refusal->param == "logit_processor");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace tickertape::net
