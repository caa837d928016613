// The server's frames: their members and order.
#include "net/server_frames.hpp"

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>
#include <string>

#include "net/json_text.hpp"

namespace tickertape::net {
namespace {

using Json = nlohmann::json;

BOOST_AUTO_TEST_SUITE(server_frames)

BOOST_AUTO_TEST_CASE(hello_says_who_serves_what) {
  BOOST_TEST(hello_frame("m\"x", 384, 256) ==
             R"({"type":"hello","protocol":"tickertape.v1","model":"m\"x","max_model_len":384,)"
             R"("max_streams":256})");
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
  BOOST_TEST(token_frame("\"a\"", token) ==
             R"({"type":"token","id":"a","index":0,"seq":4,"text":"H\"\n","token":123})");
  token.logprob = -0.5F;
  token.top_logprobs = {{123, -0.5F}, {7, -1.25F}};
  BOOST_TEST(token_frame("\"a\"", token) ==
             R"({"type":"token","id":"a","index":0,"seq":4,"text":"H\"\n","token":123,)"
             R"("logprob":-0.5,"top_logprobs":[{"token":123,"logprob":-0.5},)"
             R"({"token":7,"logprob":-1.25}]})");
}

BOOST_AUTO_TEST_CASE(broken_text_never_leaves) {
  Token token;
  token.text = "\xF0\x9F";
  const Json frame = Json::parse(token_frame(json_string("i\xFF"), token));
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

BOOST_AUTO_TEST_CASE(done_carries_usage_and_timings) {
  Finish finish;
  finish.reason = FinishReason::length;
  finish.usage = {12, 5, 2};
  finish.timings.ticks = 6;
  const Json frame = Json::parse(done_frame("\"a\"", finish.reason, finish));
  BOOST_TEST(frame["type"] == "done");
  BOOST_TEST(frame["index"] == 0);
  BOOST_TEST(frame["finish_reason"] == "length");
  BOOST_TEST(frame["final"] == true);
  BOOST_TEST(frame["usage"] == Json::parse(R"({"prompt_tokens":12,"completion_tokens":5,
      "total_tokens":17,"prompt_tokens_details":{"cached_tokens":2}})"));
  for (const char* name : {"queued_ms", "prefill_ms", "decode_ms", "preemptions", "swapped_pages",
                           "cached_tokens", "ticks"}) {
    BOOST_TEST(frame["timings"].contains(name), name);
  }
  BOOST_TEST(!frame.contains("error"));
  BOOST_TEST(!frame.contains("prompt_logprobs"));
}

BOOST_AUTO_TEST_CASE(done_with_an_error_says_which) {
  Finish finish;
  finish.reason = FinishReason::error;
  finish.error = {Errc::backend_failed, "the device failed", {}, 0};
  const Json frame = Json::parse(done_frame("\"a\"", finish.reason, finish));
  BOOST_TEST(frame["finish_reason"] == "error");
  BOOST_TEST(frame["error"]["status"] == 500);
  BOOST_TEST(frame["error"]["message"] == "the device failed");
  BOOST_TEST(frame["error"]["param"].is_null());
}

BOOST_AUTO_TEST_CASE(done_carries_prompt_logprobs) {
  Finish finish;
  finish.reason = FinishReason::length;
  finish.prompt_logprobs = {{{5, -0.5F}, {{5, -0.5F}, {6, -1.0F}}}};
  const Json frame = Json::parse(done_frame("\"a\"", finish.reason, finish));
  BOOST_TEST(frame["prompt_logprobs"] == Json::parse(R"([{"token":5,"logprob":-0.5,
      "top_logprobs":[{"token":5,"logprob":-0.5},{"token":6,"logprob":-1.0}]}])"));
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
