// The server's frames: their members and order.
#include "net/server_frames.hpp"

#include <boost/test/unit_test.hpp>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "net/json_text.hpp"

namespace tickertape::net {
namespace {

using Json = nlohmann::json;

BOOST_AUTO_TEST_SUITE(server_frames)

BOOST_AUTO_TEST_CASE(hello_says_who_serves_what) {
  BOOST_TEST(hello_frame({"m\"x", 384, 256, 1000}) ==
             R"({"type":"hello","protocol":"tickertape.v1","model":"m\"x","max_model_len":384,)"
             R"("max_streams":256,"max_body":1000})");
}

BOOST_AUTO_TEST_CASE(accepted_has_ids_and_counts) {
  Accepted accepted;
  accepted.request_id = 7;
  accepted.prompt_tokens = 12;
  accepted.max_tokens = 5;
  accepted.seed = 99;
  accepted.queue_position = 3;
  BOOST_TEST(accepted_frame("\"a\"", accepted) ==
             R"({"type":"accepted","id":"a","request_id":7,"prompt_tokens":12,"max_tokens":5,)"
             R"("seed":99,"queue_position":3})");
}

BOOST_AUTO_TEST_CASE(token_has_logprobs_only_when_asked_for) {
  Token token;
  token.id = 123;
  token.seq = 4;
  token.text = "H\"\n";
  BOOST_TEST(token_frame("\"a\"", token, nullptr) ==
             R"({"type":"token","id":"a","index":0,"seq":4,"text":"H\"\n","token":123})");
  token.index = 2;
  token.logprob = -0.5F;
  token.top_logprobs = {{123, -0.5F}, {7, -1.25F}};
  token.finish_reason = FinishReason::stop;
  BOOST_TEST(token_frame("\"a\"", token, nullptr) ==
             R"({"type":"token","id":"a","index":2,"seq":4,"text":"H\"\n","token":123,)"
             R"("logprob":-0.5,"bytes":null,)"
             R"("top_logprobs":[{"token":123,"logprob":-0.5,"bytes":null},)"
             R"({"token":7,"logprob":-1.25,"bytes":null}],"finish_reason":"stop"})");
}

/// Token 1 is half of a character, token 2 a control token.
class Halves final : public Tokenizer {
 public:
  std::vector<TokenId> encode(std::string_view, bool) const override { return {}; }
  std::vector<TokenId> encode_spans(std::span<const PromptSpan>) const override { return {}; }
  std::string_view bytes(TokenId id) const override { return id == 1 ? "\xE4\xBD" : "<end>"; }
  bool is_control(TokenId id) const override { return id == 2; }
  std::size_t vocab_size() const noexcept override { return 3; }
  std::span<const TokenId> end_tokens() const noexcept override { return {}; }
  TokenId begin_token() const noexcept override { return -1; }
  std::size_t longest_token() const noexcept override { return 5; }
};

BOOST_AUTO_TEST_CASE(logprobs_carry_the_bytes_of_their_tokens) {
  const Halves tokenizer;
  Token token;
  token.id = 1;
  token.logprob = -0.5F;
  token.top_logprobs = {{2, -0.25F}, {3, -1}, {-1, -2}};
  const Json frame = Json::parse(token_frame("\"a\"", token, &tokenizer));
  BOOST_TEST(frame["bytes"] == Json({0xE4, 0xBD}));
  for (const Json& entry : frame["top_logprobs"]) BOOST_TEST(entry["bytes"] == Json::array());
}

BOOST_AUTO_TEST_CASE(logprobs_are_always_finite) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  Token token;
  Finish finish;
  for (const float bad : {-kInfinity, kInfinity, std::numeric_limits<float>::quiet_NaN()}) {
    token.logprob = bad;
    token.top_logprobs = {{1, bad}};
    const Json frame = Json::parse(token_frame("\"a\"", token, nullptr));
    BOOST_TEST(frame["logprob"] == kLogprobFloor);
    BOOST_TEST(frame["top_logprobs"][0]["logprob"] == kLogprobFloor);
    finish.prompt_logprobs = {{{5, bad}, {{5, bad}}}};
    const Json done = Json::parse(done_frame("\"a\"", {}, &finish, nullptr));
    BOOST_TEST(done["prompt_logprobs"][0]["logprob"] == kLogprobFloor);
    BOOST_TEST(done["prompt_logprobs"][0]["top_logprobs"][0]["logprob"] == kLogprobFloor);
  }
}

BOOST_AUTO_TEST_CASE(broken_text_never_leaves) {
  Token token;
  token.text = "\xF0\x9F";
  const Json frame = Json::parse(token_frame(json_string("i\xFF"), token, nullptr));
  BOOST_TEST(frame["text"].get<std::string>() == "\xEF\xBF\xBD");
  BOOST_TEST(frame["id"].get<std::string>() == "i\xEF\xBF\xBD");
}

BOOST_AUTO_TEST_CASE(notices_say_how) {
  BOOST_TEST(notice_frame("\"a\"", {Notice::Kind::preempted, Notice::How::recompute}) ==
             R"({"type":"preempted","id":"a","how":"recompute"})");
  BOOST_TEST(notice_frame("\"a\"", {Notice::Kind::preempted, Notice::How::swap}) ==
             R"({"type":"preempted","id":"a","how":"swap"})");
  BOOST_TEST(notice_frame("\"a\"", {Notice::Kind::resumed, Notice::How::swap}) ==
             R"({"type":"resumed","id":"a"})");
}

BOOST_AUTO_TEST_CASE(the_last_done_carries_usage_and_timings) {
  Finish finish;
  finish.usage = {12, 5, 2};
  finish.timings.ticks = 6;
  ChoiceDone done;
  done.index = 3;
  done.reason = FinishReason::length;
  const Json frame = Json::parse(done_frame("\"a\"", done, &finish, nullptr));
  BOOST_TEST(frame["type"] == "done");
  BOOST_TEST(frame["index"] == 3);
  BOOST_TEST(frame["finish_reason"] == "length");
  BOOST_TEST(frame["final"] == true);
  BOOST_TEST(frame["usage"] == Json::parse(R"({"prompt_tokens":12,"completion_tokens":5,
      "total_tokens":17,"prompt_tokens_details":{"cached_tokens":2}})"));
  for (const char* name : {"queued_ms", "prefill_ms", "decode_ms", "preemptions", "swapped_pages",
                           "cached_tokens", "ticks"}) {
    BOOST_TEST(frame["timings"].contains(name), name);
  }
  BOOST_TEST(!frame.contains("error"));
  BOOST_TEST(!frame.contains("stop_reason"));
  BOOST_TEST(!frame.contains("prompt_logprobs"));
}

BOOST_AUTO_TEST_CASE(the_other_dones_say_why_only) {
  ChoiceDone done;
  done.index = 1;
  done.reason = FinishReason::stop;
  done.stop = "\n\n";
  BOOST_TEST(done_frame("\"a\"", done, nullptr, nullptr) ==
             R"({"type":"done","id":"a","index":1,"finish_reason":"stop","stop_reason":"\n\n"})");
  done.stop = {};
  done.stop_token = 7;
  BOOST_TEST(done_frame("\"a\"", done, nullptr, nullptr) ==
             R"({"type":"done","id":"a","index":1,"finish_reason":"stop","stop_reason":7})");
}

BOOST_AUTO_TEST_CASE(done_with_an_error_says_which) {
  ChoiceDone done;
  done.reason = FinishReason::error;
  done.error = {500, "the device failed", {}, 0};
  const Json frame = Json::parse(done_frame("\"a\"", done, nullptr, nullptr));
  BOOST_TEST(frame["finish_reason"] == "error");
  BOOST_TEST(frame["error"]["status"] == 500);
  BOOST_TEST(frame["error"]["message"] == "the device failed");
  BOOST_TEST(frame["error"]["param"].is_null());
}

BOOST_AUTO_TEST_CASE(done_carries_prompt_logprobs) {
  Finish finish;
  finish.prompt_logprobs = {{{5, -0.5F}, {{5, -0.5F}, {6, -1.0F}}}};
  const Json frame = Json::parse(done_frame("\"a\"", {}, &finish, nullptr));
  BOOST_TEST(frame["prompt_logprobs"] == Json::parse(R"([{"token":5,"logprob":-0.5,"bytes":null,
      "top_logprobs":[{"token":5,"logprob":-0.5,"bytes":null},
                      {"token":6,"logprob":-1.0,"bytes":null}]}])"));
}

BOOST_AUTO_TEST_CASE(errors_may_lack_an_id) {
  BOOST_TEST(error_frame({}, {400, "bad", {}, 0}) ==
             R"({"type":"error","status":400,"message":"bad","param":null})");
  BOOST_TEST(error_frame("\"a\"", {429, "full", "p", 2.5}) ==
             R"({"type":"error","id":"a","status":429,"message":"full","param":"p",)"
             R"("retry_after":2.5})");
  BOOST_TEST(pong_frame() == R"({"type":"pong"})");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace tickertape::net
