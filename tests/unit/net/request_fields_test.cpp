// SubmitFields: every field's types, ranges and neutral values.
#include "net/request_fields.hpp"

#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "net/json_document.hpp"

namespace tickertape::net {
namespace {

/// Reads `members` (without braces) of a submit body.
Refusal read_members(const std::string& members, SubmitFields& out) {
  JsonParser parser(1U << 20);
  std::string why;
  const auto document = parser.parse("{" + members + "}", why);
  BOOST_REQUIRE_MESSAGE(document.has_value(), why << ": " << members);
  simdjson::dom::object body;
  BOOST_REQUIRE(document->get(body) == simdjson::SUCCESS);
  return read_submit_fields(body, "the-model", out);
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
         "n":1,"stream":true,"unknown":{"a":[1]})");
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
  for (const char* field : {"max_tokens", "max_completion_tokens", "top_k", "top_logprobs",
                            "prompt_logprobs", "priority", "window", "n"}) {
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
  refuse(R"("n":2)", "n");
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

BOOST_AUTO_TEST_CASE(known_fields_that_are_not_served_are_refused_unless_neutral) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"stop", "[\"x\"]"},
      {"stop", "\"\""},
      {"stop_token_ids", "[1]"},
      {"allowed_token_ids", "[1]"},
      {"logit_bias", "{\"1\":5}"},
      {"repetition_penalty", "1.1"},
      {"presence_penalty", "0.1"},
      {"frequency_penalty", "\"0\""},
      {"typical_p", "0.5"},
      {"min_tokens", "1"},
      {"best_of", "2"},
      {"echo", "true"},
      {"adapter", "\"a\""},
      {"tools", "[{}]"},
      {"tool_choice", "\"required\""},
      {"response_format", "{\"type\":\"json_object\"}"}};
  for (const auto& [name, value] : cases) refuse('"' + name + "\":" + value, name);
  accept(R"("stop":[],"stop_token_ids":[],"allowed_token_ids":[],"logit_bias":{},
            "repetition_penalty":1.0,"presence_penalty":0,"frequency_penalty":0.0,"typical_p":1,
            "min_tokens":0,"best_of":1,"echo":false,"adapter":"","tools":[],"tool_choice":"auto",
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
  for (const char* value :
       {"\"\"", "[]", "[\"\"]", "[[]]", "[\"a\",\"\"]", "[\"a\",1]", "[1,\"a\"]", "5", "{}",
        "[[1],[2]]", "[-1]", "[1.5]", "[2147483648]", "[true]"}) {
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
  bad(R"({"role":"assistant","content":null,"tool_calls":[{}]})", "messages[1].tool_calls");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace tickertape::net
