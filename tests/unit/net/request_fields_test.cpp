// SubmitFields: every field's types, ranges and neutral values.
#include "net/request_fields.hpp"

#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "net/json_document.hpp"

namespace tickertape::net {
namespace {

constexpr std::uint32_t kVocabSize = 1000;

/// Reads `members` (without braces) of a submit body.
Refusal read_members(const std::string& members, SubmitFields& out) {
  JsonParser parser(1U << 20);
  std::string why;
  const auto document = parser.parse("{" + members + "}", why);
  BOOST_REQUIRE_MESSAGE(document.has_value(), why << ": " << members);
  simdjson::dom::object body;
  BOOST_REQUIRE(document->get(body) == simdjson::SUCCESS);
  return read_submit_fields(body, {"the-model", kVocabSize}, out);
}

SubmitFields accept(const std::string& members) {
  SubmitFields out;
  const Refusal refusal = read_members("\"prompt\":\"p\"," + members, out);
  BOOST_TEST(!refusal, members << ": " << (refusal ? refusal->message : ""));
  return out;
}

void refuse(const std::string& members, const std::string& param, int status = 400) {
  SubmitFields out;
  const Refusal refusal = read_members("\"prompt\":\"p\"," + members, out);
  BOOST_REQUIRE_MESSAGE(refusal, members);
  BOOST_TEST(refusal->param == param, members);
  BOOST_TEST(refusal->status == status, members);
  BOOST_TEST(refusal->message.find(param) != std::string::npos, refusal->message);
}

void refuse_prompt(const std::string& members, const std::string& param) {
  SubmitFields out;
  const Refusal refusal = read_members(members, out);
  BOOST_REQUIRE_MESSAGE(refusal, members);
  BOOST_TEST(refusal->param == param, members);
}

BOOST_AUTO_TEST_SUITE(request_fields)

BOOST_AUTO_TEST_CASE(all_fields_reach_the_request) {
  const SubmitFields fields = accept(
      R"("max_tokens":7,"temperature":0.5,"top_p":0.25,"top_k":5,"min_p":0.125,"seed":9,
         "ignore_eos":true,"logprobs":true,"top_logprobs":3,"prompt_logprobs":2,"priority":-4,
         "deadline_ms":1500.5,"window":8,"events":["preempted"],"user":"me","model":"the-model",
         "cache_salt":"pepper","n":1,"stream":true,"unknown":{"a":[1]})");
  const Request& request = fields.request;
  BOOST_TEST(request.prompt == "p");
  BOOST_TEST(request.max_tokens == 7U);
  BOOST_TEST(request.sampling.temperature == 0.5);
  BOOST_TEST(request.sampling.top_p == 0.25);
  BOOST_TEST(request.sampling.top_k == 5);
  BOOST_TEST(request.sampling.min_p == 0.125);
  BOOST_TEST(request.sampling.seed.value() == 9U);
  BOOST_TEST(request.sampling.ignore_eos);
  BOOST_TEST(request.sampling.logprobs == 3);
  BOOST_TEST(request.prompt_logprobs == 2);
  BOOST_TEST(request.priority == -4);
  BOOST_TEST(request.deadline_ms.value() == 1500.5);
  BOOST_TEST(request.label == "me");
  BOOST_TEST(request.cache_salt == "pepper");
  BOOST_TEST(fields.window.value() == 8U);
  BOOST_TEST(fields.notices);
}

BOOST_AUTO_TEST_CASE(null_is_the_default) {
  const SubmitFields fields = accept(
      R"("max_tokens":null,"max_completion_tokens":null,"temperature":null,"top_p":null,
         "top_k":null,"min_p":null,"seed":null,"ignore_eos":null,"logprobs":null,
         "top_logprobs":null,"prompt_logprobs":null,"n":null,"priority":null,"deadline_ms":null,
         "window":null,"events":null,"user":null,"model":null,"stop":null,"tools":null,
         "response_format":null,"logit_bias":null,"messages":null)");
  const Request& request = fields.request;
  BOOST_TEST(request.max_tokens == 256U);
  BOOST_TEST(request.sampling.temperature == 1.0);
  BOOST_TEST(request.sampling.top_p == 1.0);
  BOOST_TEST(!request.sampling.seed.has_value());
  BOOST_TEST(request.sampling.logprobs == -1);
  BOOST_TEST(request.prompt_logprobs == -1);
  BOOST_TEST(!request.deadline_ms.has_value());
  BOOST_TEST(!fields.window.has_value());
  BOOST_TEST(!fields.notices);
}

BOOST_AUTO_TEST_CASE(integers_may_be_written_as_integral_floats) {
  BOOST_TEST(accept(R"("max_tokens":10.0)").request.max_tokens == 10U);
  BOOST_TEST(accept(R"("max_tokens":1e1)").request.max_tokens == 10U);
  BOOST_TEST(accept(R"("max_tokens":2147483647)").request.max_tokens == 2147483647U);
  BOOST_TEST(accept(R"("top_k":-1)").request.sampling.top_k == -1);
  BOOST_TEST(accept(R"("priority":-0)").request.priority == 0);
}

BOOST_AUTO_TEST_CASE(what_is_no_integer_in_range_is_refused) {
  const std::vector<std::string> bad = {"10.5",
                                        "\"10\"",
                                        "true",
                                        "[1]",
                                        "{}",
                                        "2147483648",
                                        "4294967297",
                                        "1e300",
                                        "9223372036854775807",
                                        "-2147483649",
                                        "18446744073709551615"};
  for (const char* field :
       {"max_tokens", "max_completion_tokens", "top_k", "top_logprobs", "prompt_logprobs",
        "priority", "window", "n", "best_of", "min_tokens"}) {
    for (const std::string& value : bad) {
      refuse('"' + std::string(field) + "\":" + value, field);
    }
  }
  refuse(R"("max_tokens":-1)", "max_tokens");
  refuse(R"("max_tokens":0)", "max_tokens");
  refuse(R"("max_completion_tokens":0)", "max_completion_tokens");
  refuse(R"("top_k":-2)", "top_k");
  refuse(R"("top_logprobs":21,"logprobs":true)", "top_logprobs");
  refuse(R"("window":0)", "window");
  refuse(R"("window":65537)", "window");
  refuse(R"("n":0)", "n");
  refuse(R"("best_of":2)", "best_of");
  refuse(R"("n":3,"best_of":2)", "best_of");
  BOOST_TEST(accept(R"("n":3,"best_of":3.0)").request.n == 3U);
}

BOOST_AUTO_TEST_CASE(seed_takes_every_integer_of_64_bits) {
  const auto seed = [](const std::string& value) {
    return accept("\"seed\":" + value).request.sampling.seed.value();
  };
  BOOST_TEST(seed("0") == 0U);
  BOOST_TEST(seed("-1") == ~std::uint64_t{0});
  BOOST_TEST(seed("9223372036854775807") == 9223372036854775807U);
  BOOST_TEST(seed("18446744073709551615") == ~std::uint64_t{0});
  for (const char* value : {"1.5", "\"1\"", "true", "1e20", "[]"}) {
    refuse("\"seed\":" + std::string(value), "seed");
  }
}

BOOST_AUTO_TEST_CASE(numbers_have_ranges) {
  for (const char* field : {"temperature", "top_p", "min_p", "deadline_ms"}) {
    for (const char* value : {"\"1\"", "true", "-1", "1e300", "[1]", "{}"}) {
      refuse('"' + std::string(field) + "\":" + value, field);
    }
  }
  refuse(R"("temperature":2.0001)", "temperature");
  refuse(R"("top_p":1.0001)", "top_p");
  BOOST_TEST(accept(R"("temperature":0)").request.sampling.temperature == 0);
  BOOST_TEST(accept(R"("temperature":-0.0)").request.sampling.temperature == 0);
  BOOST_TEST(accept(R"("temperature":1e-45)").request.sampling.temperature == 1e-45);
  BOOST_TEST(accept(R"("temperature":2)").request.sampling.temperature == 2);
}

BOOST_AUTO_TEST_CASE(flags_strings_and_lists_have_types) {
  for (const char* value : {"1", "\"true\"", "[]"}) {
    refuse("\"ignore_eos\":" + std::string(value), "ignore_eos");
  }
  refuse(R"("logprobs":"x")", "logprobs");
  refuse(R"("logprobs":21)", "logprobs");
  BOOST_TEST(accept(R"("logprobs":5)").request.sampling.logprobs == 5);
  BOOST_TEST(accept(R"("logprobs":false)").request.sampling.logprobs == -1);
  refuse(R"("top_logprobs":2)", "top_logprobs");
  refuse(R"("events":"preempted")", "events");
  refuse(R"("events":["preempted","ticks"])", "events");
  refuse(R"("user":5)", "user");
  refuse(R"("cache_salt":[])", "cache_salt");
  refuse("\"user\":\"" + std::string(257, 'x') + '"', "user");
  refuse(R"("model":5)", "model");
  refuse(R"("model":"another")", "model", 404);
}

BOOST_AUTO_TEST_CASE(the_smaller_of_both_limits_holds) {
  BOOST_TEST(accept(R"("max_completion_tokens":5)").request.max_tokens == 5U);
  BOOST_TEST(accept(R"("max_tokens":9,"max_completion_tokens":5)").request.max_tokens == 5U);
  BOOST_TEST(accept(R"("max_tokens":5,"max_completion_tokens":9)").request.max_tokens == 5U);
  BOOST_TEST(accept(R"("max_tokens":0,"prompt_logprobs":0)").request.max_tokens == 0U);
}

BOOST_AUTO_TEST_CASE(all_of_sampling_reaches_the_request) {
  const Request request =
      accept(R"("stop":["a","b\n"],"include_stop_str_in_output":true,"stop_token_ids":[0,999],
                "min_tokens":3,"n":2,"best_of":2,"logit_bias":{"0":-100,"999":0.5},
                "allowed_token_ids":[7,8.0],"repetition_penalty":1.25,"frequency_penalty":-2,
                "presence_penalty":2,"typical_p":0.5)")
          .request;
  const SamplingParams& sampling = request.sampling;
  BOOST_TEST(request.stop == (std::vector<std::string>{"a", "b\n"}));
  BOOST_TEST(request.include_stop_str_in_output);
  BOOST_TEST(sampling.stop_token_ids == (std::vector<TokenId>{0, 999}));
  BOOST_TEST(sampling.min_tokens == 3U);
  BOOST_TEST(request.n == 2U);
  BOOST_TEST((sampling.logit_bias == std::vector<LogitBias>{{0, -100}, {999, 0.5F}}));
  BOOST_TEST(sampling.allowed_token_ids == (std::vector<TokenId>{7, 8}));
  BOOST_TEST(sampling.repetition_penalty == 1.25);
  BOOST_TEST(sampling.frequency_penalty == -2);
  BOOST_TEST(sampling.presence_penalty == 2);
  BOOST_TEST(sampling.typical_p == 0.5);
  BOOST_TEST(accept(R"("stop":"x")").request.stop == std::vector<std::string>{"x"});
  accept(R"("stop":[],"stop_token_ids":[],"allowed_token_ids":[],"logit_bias":{})");
}

BOOST_AUTO_TEST_CASE(sampling_has_ranges) {
  for (const char* field :
       {"typical_p", "frequency_penalty", "presence_penalty", "repetition_penalty"}) {
    for (const char* value : {"\"1\"", "true", "-2.1", "10.1", "1e300", "[1]", "{}"}) {
      refuse('"' + std::string(field) + "\":" + value, field);
    }
  }
  refuse(R"("repetition_penalty":0)", "repetition_penalty");
  BOOST_TEST(accept(R"("repetition_penalty":10)").request.sampling.repetition_penalty == 10);
  for (const char* value : {"5", "\"\"", "[5]", "[\"\"]", "{}", "[\"a\",null]", "true"}) {
    refuse("\"stop\":" + std::string(value), "stop");
  }
  refuse("\"stop\":\"" + std::string(1025, 'x') + '"', "stop");
  std::string many = "\"x\"";
  for (int i = 0; i < 64; ++i) many += ",\"x\"";
  refuse("\"stop\":[" + many + "]", "stop");
  refuse(R"("min_tokens":257)", "min_tokens");
  refuse(R"("min_tokens":3,"max_tokens":2)", "min_tokens");
  BOOST_TEST(accept(R"("min_tokens":2,"max_tokens":2)").request.sampling.min_tokens == 2U);
}

BOOST_AUTO_TEST_CASE(token_ids_are_those_of_the_vocabulary) {
  for (const char* field : {"stop_token_ids", "allowed_token_ids"}) {
    for (const char* value : {"[-1]", "[1000]", "[2147483648]", "[9223372036854775808]", "[1.5]",
                              "[true]", "[\"1\"]", "5", "\"5\"", "{}", "[[1]]"}) {
      refuse('"' + std::string(field) + "\":" + value, field);
    }
  }
  for (const char* value :
       {R"({"-1":0})", R"({"1000":0})", R"({"4294967296":0})", R"({"abc":0})", R"({"1.5":0})",
        R"({"":0})", R"({"01":0})", R"({"+1":0})", R"({"-0":0})", R"({" 1":0})", R"({"1":null})",
        R"({"1":"x"})", R"({"1":101})", R"({"1":-100.5})", R"({"1":true})", "[]", "5", "\"5\""}) {
    refuse("\"logit_bias\":" + std::string(value), "logit_bias");
  }
}

BOOST_AUTO_TEST_CASE(chats_have_options) {
  const ChatOptions usual = accept(R"("user":"me")").request.chat;
  BOOST_TEST(usual.add_generation_prompt);
  BOOST_TEST(!usual.continue_final_message);
  BOOST_TEST(usual.variables == "");
  const ChatOptions given =
      accept(
          R"("add_generation_prompt":false,"chat_template_kwargs":{"thinking": true, "k":[1.5]})")
          .request.chat;
  BOOST_TEST(!given.add_generation_prompt);
  BOOST_TEST(given.variables == R"({"thinking":true,"k":[1.5]})");
  const ChatOptions open = accept(R"("continue_final_message":true)").request.chat;
  BOOST_TEST(open.continue_final_message);
  BOOST_TEST(!open.add_generation_prompt);
  refuse(R"("continue_final_message":true,"add_generation_prompt":true)", "continue_final_message");
  for (const char* field :
       {"add_generation_prompt", "continue_final_message", "include_stop_str_in_output"}) {
    refuse('"' + std::string(field) + "\":1", field);
  }
  refuse(R"("chat_template_kwargs":[])", "chat_template_kwargs");
  refuse(R"("chat_template_kwargs":"{}")", "chat_template_kwargs");
}

BOOST_AUTO_TEST_CASE(known_fields_that_are_not_served_are_refused_unless_neutral) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"echo", "true"},
      {"adapter", "\"a\""},
      {"tools", "[{}]"},
      {"tool_choice", "\"required\""},
      {"response_format", "{\"type\":\"json_object\"}"}};
  for (const auto& [name, value] : cases) refuse('"' + name + "\":" + value, name);
  accept(R"("echo":false,"adapter":"","tools":[],"tool_choice":"auto",
            "response_format":{"type":"text"})");
}

BOOST_AUTO_TEST_CASE(prompts_come_as_text_ids_or_messages) {
  SubmitFields out;
  BOOST_TEST(!read_members(R"("prompt":" ")", out));
  BOOST_TEST(out.request.prompt == " ");
  BOOST_TEST(!read_members(R"("prompt":["one"])", out));
  BOOST_TEST(out.request.prompt == "one");
  const std::vector<TokenId> ids = {1, 2, 3};
  BOOST_TEST(!read_members(R"("prompt":[1,2.0,3])", out));
  BOOST_TEST(out.request.prompt_ids == ids);
  BOOST_TEST(!read_members(R"("prompt":[[1,2,3]])", out));
  BOOST_TEST(out.request.prompt_ids == ids);
  BOOST_TEST(!read_members(R"("prompt_ids":[1,2,3])", out));
  BOOST_TEST(out.request.prompt_ids == ids);
}

BOOST_AUTO_TEST_CASE(nothing_to_run_is_refused) {
  for (const char* value : {"\"\"", "[]", "[\"\"]", "[[]]", "[\"a\",\"\"]", "[\"a\",1]",
                            "[1,\"a\"]", "5", "{}", "[[1],[2]]", "[-1]", "[1.5]", "[2147483648]",
                            "[true]", "[1000]", "[[1000]]", "[18446744073709551615]"}) {
    refuse_prompt("\"prompt\":" + std::string(value), "prompt");
  }
  refuse_prompt(R"("prompt_ids":[])", "prompt_ids");
  refuse_prompt(R"("prompt_ids":"1")", "prompt_ids");
  refuse_prompt(R"("messages":[])", "messages");
  refuse_prompt(R"("messages":"hi")", "messages");
  refuse_prompt(R"("max_tokens":1)", "prompt");
  refuse_prompt(R"("prompt":"a","prompt_ids":[1])", "prompt");
  refuse_prompt(R"("prompt":"a","messages":[{"role":"user","content":"b"}])", "prompt");
}

BOOST_AUTO_TEST_CASE(messages_are_read) {
  SubmitFields out;
  BOOST_TEST(!read_members(R"("messages":[{"role":"developer","content":"be brief","name":"x"},
      {"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},
      {"role":"assistant","content":null},{"role":"assistant"},
      {"role":"user","content":[]},{"role":"user","content":"","tool_calls":[]}])",
                           out));
  const auto& messages = out.request.messages;
  BOOST_REQUIRE(messages.size() == 6U);
  BOOST_TEST(messages[0].role == "system");
  BOOST_TEST(messages[0].fields == R"({"name":"x"})");
  BOOST_TEST(messages[1].fields == "");
  BOOST_TEST(messages[5].fields == R"({"tool_calls":[]})");
  BOOST_TEST(messages[0].content == "be brief");
  BOOST_TEST(messages[1].content == "ab");
  BOOST_TEST(messages[2].content.empty());
  BOOST_TEST(messages[4].content.empty());
}

BOOST_AUTO_TEST_CASE(bad_messages_are_named) {
  const auto bad = [](const std::string& message, const std::string& param) {
    refuse_prompt(R"("messages":[{"role":"user","content":"x"},)" + message + "]", param);
  };
  bad("5", "messages[1]");
  bad(R"({"content":"x"})", "messages[1].role");
  bad(R"({"role":"root","content":"x"})", "messages[1].role");
  bad(R"({"role":5,"content":"x"})", "messages[1].role");
  bad(R"({"role":"user"})", "messages[1].content");
  bad(R"({"role":"user","content":5})", "messages[1].content");
  bad(R"({"role":"user","content":{"type":"text","text":"x"}})", "messages[1].content");
  bad(R"({"role":"user","content":["x"]})", "messages[1].content");
  bad(R"({"role":"user","content":[{"type":"text"}]})", "messages[1].content");
  bad(R"({"role":"user","content":[{"text":"x"}]})", "messages[1].content");
  bad(R"({"role":"user","content":[{"type":"image_url","image_url":"x"}]})", "messages[1].content");
}

BOOST_AUTO_TEST_CASE(further_members_of_messages_are_kept) {
  SubmitFields out;
  BOOST_TEST(!read_members(R"("messages":[{"role":"assistant","content":null,"name":null,
      "tool_calls":[{"id":"1","function":{"name":"f","arguments":"{\"a\":1}"}}]},
      {"role":"tool","content":"2","tool_call_id":"1","k\"":"\u00e9"}])",
                           out));
  const auto& messages = out.request.messages;
  BOOST_REQUIRE(messages.size() == 2U);
  BOOST_TEST(messages[0].fields ==
             R"({"tool_calls":[{"id":"1","function":{"name":"f","arguments":"{\"a\":1}"}}]})");
  BOOST_TEST(messages[1].fields == "{\"tool_call_id\":\"1\",\"k\\\"\":\"\xC3\xA9\"}");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace tickertape::net
