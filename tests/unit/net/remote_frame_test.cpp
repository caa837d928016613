// RemoteFrame: what the server's side writes is read back whole, and nothing malformed gets
// through.
#include "net/remote_frame.hpp"

#include <boost/test/unit_test.hpp>
#include <string>

#include "net/server_frames.hpp"

namespace tickertape::net {
namespace {

struct Fixture {
  RemoteFrame read(const std::string& text) {
    std::string why;
    auto frame = reader.read(text, why);
    BOOST_REQUIRE_MESSAGE(frame, text << ": " << why);
    return std::move(*frame);
  }

  std::string refuse(const std::string& text) {
    std::string why;
    BOOST_TEST(!reader.read(text, why), text);
    return why;
  }

  RemoteFrameReader reader{1U << 20};
};

using Type = RemoteFrame::Type;

BOOST_FIXTURE_TEST_SUITE(remote_frame, Fixture)

BOOST_AUTO_TEST_CASE(hello_and_accepted) {
  const RemoteFrame hello = read(hello_frame({"m", 384, 256, 1000}));
  BOOST_TEST((hello.type == Type::hello));
  BOOST_TEST(hello.protocol == "tickertape.v1");
  BOOST_TEST(hello.hello.model == "m");
  BOOST_TEST(hello.hello.max_model_len == 384U);
  BOOST_TEST(hello.hello.max_streams == 256U);
  BOOST_TEST(hello.hello.max_body == 1000U);
  Accepted given;
  given.request_id = 7;
  given.prompt_tokens = 12;
  given.max_tokens = 5;
  given.seed = ~std::uint64_t{0};
  given.queue_position = 3;
  const RemoteFrame accepted = read(accepted_frame("\"a\"", given));
  BOOST_TEST((accepted.type == Type::accepted));
  BOOST_TEST(accepted.id == "a");
  BOOST_TEST(accepted.accepted.request_id == 7U);
  BOOST_TEST(accepted.accepted.prompt_tokens == 12U);
  BOOST_TEST(accepted.accepted.max_tokens == 5U);
  BOOST_TEST(accepted.accepted.seed == given.seed);
  BOOST_TEST(accepted.accepted.queue_position == 3U);
}

BOOST_AUTO_TEST_CASE(tokens) {
  Token given;
  given.id = 123;
  given.index = 2;
  given.seq = 4;
  given.text = "H\"\n\xC3\xA9";
  given.logprob = -0.1F;
  given.top_logprobs = {{123, -0.1F}, {7, -1.2345678F}};
  given.finish_reason = FinishReason::length;
  const RemoteFrame frame = read(token_frame("\"a\"", given, nullptr));
  BOOST_TEST((frame.type == Type::token));
  BOOST_TEST(frame.token.id == 123);
  BOOST_TEST(frame.token.index == 2U);
  BOOST_TEST(frame.token.seq == 4U);
  BOOST_TEST(frame.token.text == given.text);
  BOOST_TEST(frame.token.logprob.value() == -0.1F);
  BOOST_TEST((frame.token.top_logprobs == given.top_logprobs));
  BOOST_TEST((frame.token.finish_reason == FinishReason::length));
  given.logprob.reset();
  given.finish_reason = FinishReason::none;
  const RemoteFrame plain = read(token_frame("\"a\"", given, nullptr));
  BOOST_TEST(!plain.token.logprob);
  BOOST_TEST((plain.token.finish_reason == FinishReason::none));
}

BOOST_AUTO_TEST_CASE(ends) {
  ChoiceDone done;
  done.index = 1;
  done.reason = FinishReason::stop;
  done.stop = "\n";
  const RemoteFrame choice = read(done_frame("\"a\"", done, nullptr, nullptr));
  BOOST_TEST((choice.type == Type::done));
  BOOST_TEST(choice.index == 1U);
  BOOST_TEST(choice.choice.stop == "\n");
  BOOST_TEST(!choice.is_final);
  Finish whole;
  whole.usage = {12, 5, 2};
  whole.timings.queued_ms = 1.5;
  whole.timings.ticks = 6;
  whole.prompt_logprobs = {{{5, -0.5F}, {{5, -0.5F}, {6, -1.0F}}}};
  done.reason = FinishReason::error;
  done.stop = {};
  done.stop_token = 9;
  done.error = {503, "down", "p", 0};
  const RemoteFrame last = read(done_frame("\"a\"", done, &whole, nullptr));
  BOOST_TEST(last.is_final);
  BOOST_TEST(last.choice.stop_token == 9);
  BOOST_TEST((last.choice.error.code == Errc::shutting_down));
  BOOST_TEST(last.choice.error.message == "down");
  BOOST_TEST(last.choice.error.param == "p");
  BOOST_TEST(last.end.usage.prompt_tokens == 12U);
  BOOST_TEST(last.end.usage.completion_tokens == 5U);
  BOOST_TEST(last.end.usage.cached_tokens == 2U);
  BOOST_TEST(last.end.timings.queued_ms == 1.5);
  BOOST_TEST(last.end.timings.ticks == 6U);
  BOOST_REQUIRE(last.end.prompt_logprobs.size() == 1U);
  BOOST_TEST((last.end.prompt_logprobs[0].chosen == TokenLogprob{5, -0.5F}));
  BOOST_TEST((last.end.prompt_logprobs[0].top == whole.prompt_logprobs[0].top));
}

BOOST_AUTO_TEST_CASE(notices_and_errors) {
  const RemoteFrame swapped =
      read(notice_frame("\"a\"", {Notice::Kind::preempted, Notice::How::swap}));
  BOOST_TEST((swapped.notice.kind == Notice::Kind::preempted));
  BOOST_TEST((swapped.notice.how == Notice::How::swap));
  const RemoteFrame resumed = read(notice_frame("\"a\"", {Notice::Kind::resumed, {}}));
  BOOST_TEST((resumed.notice.kind == Notice::Kind::resumed));
  const RemoteFrame full = read(error_frame("\"a\"", {429, "full", {}, 2.5}));
  BOOST_TEST((full.error.code == Errc::queue_full));
  BOOST_TEST(full.error.message == "full");
  BOOST_TEST(full.error.param == "");
  BOOST_TEST(full.error.retry_after == 2.5);
  BOOST_TEST(read(error_frame({}, {400, "bad", "x", 0})).id == "");
}

BOOST_AUTO_TEST_CASE(unknown_types_and_members_mean_nothing) {
  BOOST_TEST((read(R"({"type":"tick","rows":[1]})").type == Type::other));
  BOOST_TEST((read(pong_frame()).type == Type::other));
  read(R"({"type":"token","id":"a","index":0,"seq":0,"text":"","token":1,"new":{"a":[]}})");
}

BOOST_AUTO_TEST_CASE(malformed_frames_are_named) {
  BOOST_TEST(refuse("nonsense") == "the text is not valid JSON");
  BOOST_TEST(refuse("[]") == "a frame without a type");
  BOOST_TEST(refuse(R"({"type":5})") == "a frame without a type");
  BOOST_TEST(refuse(R"({"type":"hello"})") == "hello without a valid protocol");
  BOOST_TEST(refuse(R"({"type":"accepted","request_id":1,"prompt_tokens":1})") ==
             "accepted without a valid id");
  const std::pair<const char*, const char*> tokens[] = {
      {R"("index":-1,"seq":0,"text":"","token":1)", "token without a valid index"},
      {R"("index":0,"seq":0.5,"text":"","token":1)", "token without a valid seq"},
      {R"("index":0,"seq":0,"text":null,"token":1)", "token without a valid text"},
      {R"("index":0,"seq":0,"text":"","token":"1")", "token without a valid token"},
      {R"("index":0,"seq":0,"text":"","token":4294967296)", "token without a valid token"},
      {R"("index":0,"seq":0,"text":"","token":1,"finish_reason":"tired")",
       "token without a valid finish_reason"},
      {R"("index":0,"seq":0,"text":"","token":1,"logprob":-1,"top_logprobs":[5])",
       "token without a valid top_logprobs"},
      {R"("index":0,"seq":0,"text":"","token":1,"logprob":-1,"top_logprobs":[{"token":5}])",
       "top_logprobs without a valid logprob"}};
  for (const auto& [members, why] : tokens) {
    BOOST_TEST(refuse(R"({"type":"token","id":"a",)" + std::string(members) + "}") == why);
  }
  const std::string done = R"({"type":"done","id":"a","index":0,)";
  BOOST_TEST(refuse(done + R"("finish_reason":"none"})") == "done without a valid finish_reason");
  BOOST_TEST(refuse(done + R"("finish_reason":"stop","final":true})") ==
             "done without a valid usage");
  BOOST_TEST(refuse(done + R"("finish_reason":"error"})") == "done without a valid error");
  BOOST_TEST(refuse(R"({"type":"error","id":"a","status":"400","message":""})") ==
             "error without a valid status");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace tickertape::net
