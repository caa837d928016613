// RequestActor: text, counting, and exactly one end.
#include <boost/test/unit_test.hpp>
#include <memory>
#include <string>
#include <vector>

#include <tickertape/fake.hpp>
#include <tickertape/model.hpp>

#include "actors/request_actor.hpp"

namespace {

using namespace tickertape;
using namespace tickertape::actors;

std::shared_ptr<const Tokenizer> bytes() {
  return make_paged_fake_model()->tokenizer();
}

RequestSetup setup(std::uint32_t num_choices = 1, std::int64_t submitted_ns = 0) {
  RequestSetup setup;
  setup.tokenizer = bytes();
  setup.prompt_tokens = 3;
  setup.num_choices = num_choices;
  setup.submitted_ns = submitted_ns;
  return setup;
}

RequestSetup setup_with_stop(std::vector<std::string> stops) {
  RequestSetup with_stop = setup();
  with_stop.text.stops = std::make_shared<const StopStrings>(std::move(stops));
  return with_stop;
}

RequestOutput deliver(RequestActor& actor, StreamEvent& event, bool cancelled) {
  RequestOutput output;
  actor.deliver(event, cancelled, output);
  return output;
}

/// The fake's tokenizer writes byte b as id b + 1.
RequestOutput send_byte(RequestActor& actor, unsigned char byte, bool cancelled = false,
                        std::uint32_t choice = 0) {
  StreamEvent event = StreamEvent::of_token(byte + 1, 5'000'000);
  event.choice = choice;
  return deliver(actor, event, cancelled);
}

RequestOutput send_last(RequestActor& actor, unsigned char byte, FinishReason reason,
                        std::uint32_t choice = 0) {
  StreamEvent event = StreamEvent::of_token(byte + 1, 9'000'000);
  event.reason = reason;
  event.choice = choice;
  event.ticks = 7;
  return deliver(actor, event, false);
}

RequestOutput send_end(RequestActor& actor, FinishReason reason, std::uint32_t choice = 0) {
  StreamEvent event = StreamEvent::of_end(reason, ErrorInfo(), 9'000'000);
  event.choice = choice;
  event.ticks = 7;
  return deliver(actor, event, false);
}

BOOST_AUTO_TEST_CASE(a_character_comes_with_the_token_that_completes_it) {
  RequestActor actor(setup());
  BOOST_TEST(send_byte(actor, 0xC3).token.text.empty());
  const RequestOutput output = send_byte(actor, 0xA9);
  BOOST_TEST(output.token.text == "\xC3\xA9");
  BOOST_TEST(output.token.seq == 1U);
}

BOOST_AUTO_TEST_CASE(the_end_carries_usage_and_times) {
  RequestActor actor(setup(1, 1'000'000));
  StreamEvent started(StreamEvent::Kind::started, 3'000'000);
  BOOST_TEST(!deliver(actor, started, false).finish);
  send_byte(actor, 'a');
  const RequestOutput output = send_end(actor, FinishReason::length);
  BOOST_REQUIRE(output.finish != nullptr);
  BOOST_TEST((output.finish->reason == FinishReason::length));
  BOOST_TEST(output.finish->usage.prompt_tokens == 3U);
  BOOST_TEST(output.finish->usage.completion_tokens == 1U);
  BOOST_TEST(output.finish->timings.queued_ms == 2.0);
  BOOST_TEST(output.finish->timings.prefill_ms == 2.0);
  BOOST_TEST(output.finish->timings.decode_ms == 4.0);
  BOOST_TEST(output.finish->timings.ticks == 7U);
}

BOOST_AUTO_TEST_CASE(a_cancellation_goes_before_what_the_lane_still_sends) {
  RequestActor actor(setup());
  send_byte(actor, 'a');
  const RequestOutput output = send_byte(actor, 'b', /*cancelled=*/true);
  BOOST_TEST(!output.has_token);
  BOOST_TEST(output.wasted);
  BOOST_TEST((output.finish->reason == FinishReason::cancelled));
  BOOST_TEST(output.finish->usage.completion_tokens == 1U);
  // Later events give no second end.
  BOOST_TEST(send_byte(actor, 'c', true).wasted);
  BOOST_TEST(send_end(actor, FinishReason::length).finish == nullptr);
}

BOOST_AUTO_TEST_CASE(an_end_is_final_whatever_comes_later) {
  RequestActor actor(setup());
  BOOST_TEST(send_end(actor, FinishReason::stop).finish != nullptr);
  StreamEvent poke(StreamEvent::Kind::poke, 0);
  BOOST_TEST(deliver(actor, poke, true).finish == nullptr);
}

BOOST_AUTO_TEST_CASE(the_last_token_carries_the_end) {
  RequestActor actor(setup());
  const RequestOutput output = send_last(actor, 'x', FinishReason::length);
  BOOST_TEST((output.token.finish_reason == FinishReason::length));
  BOOST_TEST(output.token.text == "x");
  BOOST_REQUIRE(output.finish != nullptr);
  BOOST_TEST((output.finish->reason == FinishReason::length));
  BOOST_TEST(output.finish->choices.at(0).stop_token == -1);
}

BOOST_AUTO_TEST_CASE(the_text_of_an_end_token_is_not_shown) {
  RequestActor hidden(setup());
  const RequestOutput output = send_last(hidden, 'x', FinishReason::stop);
  BOOST_TEST(output.token.text == "");
  BOOST_TEST(output.finish->choices.at(0).stop_token == 'x' + 1);
  RequestSetup with_text = setup();
  with_text.text.include_stop = true;
  RequestActor shown(with_text);
  BOOST_TEST(send_last(shown, 'x', FinishReason::stop).token.text == "x");
}

BOOST_AUTO_TEST_CASE(a_stop_string_is_found_across_tokens_and_never_shown) {
  RequestActor actor(setup_with_stop({"END"}));
  BOOST_TEST(send_byte(actor, 'a').token.text == "a");
  BOOST_TEST(send_byte(actor, 'E').token.text == "");
  BOOST_TEST(send_byte(actor, 'x').token.text == "Ex");
  BOOST_TEST(send_byte(actor, 'E').token.text == "");
  BOOST_TEST(send_byte(actor, 'N').token.text == "");
  const RequestOutput output = send_byte(actor, 'D');
  BOOST_TEST(output.token.text == "");
  BOOST_TEST(output.stopped);
  BOOST_TEST((output.token.finish_reason == FinishReason::stop));
  BOOST_TEST(output.finish->choices.at(0).stop == "END");
  BOOST_TEST(output.finish->usage.completion_tokens == 6U);
  // The lane has not heard of it yet.
  BOOST_TEST(send_byte(actor, 'y').wasted);
}

BOOST_AUTO_TEST_CASE(held_text_comes_with_the_last_token) {
  RequestActor full(setup_with_stop({"END"}));
  BOOST_TEST(send_byte(full, 'E').token.text == "");
  BOOST_TEST(send_last(full, 'N', FinishReason::length).token.text == "EN");
  RequestActor ended(setup_with_stop({"END"}));
  BOOST_TEST(send_byte(ended, 'E').token.text == "");
  BOOST_TEST(send_last(ended, 'x', FinishReason::stop).token.text == "E");
  // Both at the same token: it is a stop, and the lane knows that the sequence is over.
  RequestActor both(setup_with_stop({"E"}));
  const RequestOutput output = send_last(both, 'E', FinishReason::length);
  BOOST_TEST((output.finish->reason == FinishReason::stop));
  BOOST_TEST(!output.stopped);
}

BOOST_AUTO_TEST_CASE(a_stop_string_begins_after_min_tokens) {
  RequestSetup with_minimum = setup_with_stop({"ab"});
  with_minimum.text.min_tokens = 3;
  RequestActor actor(with_minimum);
  BOOST_TEST(send_byte(actor, 'a').token.text == "a");
  BOOST_TEST(send_byte(actor, 'b').token.text == "b");
  BOOST_TEST(send_byte(actor, 'a').token.text == "a");
  BOOST_TEST(send_byte(actor, 'b').token.text == "b");
  BOOST_TEST(send_byte(actor, 'a').token.text == "");
  BOOST_TEST(send_byte(actor, 'b').finish != nullptr);
}

BOOST_AUTO_TEST_CASE(each_choice_ends_by_itself_and_the_request_with_the_last) {
  RequestActor actor(setup(3));
  BOOST_TEST(send_byte(actor, 'a', false, 2).token.index == 2U);
  BOOST_TEST(send_byte(actor, 'b', false, 0).token.seq == 0U);
  const RequestOutput early = send_last(actor, 'c', FinishReason::length, 2);
  BOOST_TEST(early.finish == nullptr);
  BOOST_TEST((early.choice_finish->reason == FinishReason::length));
  BOOST_TEST(send_byte(actor, 'd', false, 2).wasted);
  StreamEvent failed = StreamEvent::of_end(
      FinishReason::error, ErrorInfo{Errc::backend_failed, "bad", {}, 0}, 9'000'000);
  failed.choice = 1;
  BOOST_TEST(deliver(actor, failed, false).finish == nullptr);
  const RequestOutput output = send_last(actor, 'e', FinishReason::stop, 0);
  BOOST_REQUIRE(output.finish != nullptr);
  const Finish& finish = *output.finish;
  BOOST_TEST((finish.reason == FinishReason::error));
  BOOST_TEST(finish.error.message == "bad");
  BOOST_TEST(finish.usage.completion_tokens == 4U);
  BOOST_REQUIRE(finish.choices.size() == 3U);
  BOOST_TEST((finish.choices[0].reason == FinishReason::stop));
  BOOST_TEST((finish.choices[1].reason == FinishReason::error));
  BOOST_TEST(finish.choices[2].completion_tokens == 2U);
}

BOOST_AUTO_TEST_CASE(a_cancellation_ends_every_choice_that_is_left) {
  RequestActor actor(setup(2));
  send_last(actor, 'a', FinishReason::length, 1);
  const RequestOutput output = send_byte(actor, 'b', /*cancelled=*/true, 0);
  BOOST_REQUIRE(output.finish != nullptr);
  BOOST_TEST((output.finish->choices[0].reason == FinishReason::cancelled));
  BOOST_TEST((output.finish->choices[1].reason == FinishReason::length));
}

BOOST_AUTO_TEST_CASE(an_output_that_is_used_again_keeps_nothing) {
  RequestOutput output;
  RequestActor with_text(setup());
  StreamEvent scored = StreamEvent::of_token('a' + 1, 1);
  scored.details = std::make_unique<EventDetails>();
  scored.details->logprob = -0.5F;
  scored.details->top.emplace_back();
  with_text.deliver(scored, false, output);
  BOOST_TEST(output.token.text == "a");
  BOOST_TEST(output.token.logprob.has_value());
  output.clear();
  RequestActor without(RequestSetup{});
  StreamEvent plain = StreamEvent::of_token(7, 2);
  without.deliver(plain, false, output);
  BOOST_TEST(output.has_token);
  BOOST_TEST(output.token.id == 7);
  BOOST_TEST(output.token.text == "");
  BOOST_TEST(!output.token.logprob.has_value());
  BOOST_TEST(output.token.top_logprobs.empty());
  output.clear();
  StreamEvent end = StreamEvent::of_end(FinishReason::length, ErrorInfo(), 3);
  without.deliver(end, false, output);
  BOOST_TEST(!output.has_token);
  BOOST_TEST(output.finish != nullptr);
  output.clear();
  BOOST_TEST(output.finish == nullptr);
}

}  // namespace
