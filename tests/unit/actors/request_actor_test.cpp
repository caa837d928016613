// RequestActor: text, counting, and exactly one end.
#include <boost/test/unit_test.hpp>
#include <memory>

#include <tickertape/fake.hpp>
#include <tickertape/model.hpp>

#include "actors/request_actor.hpp"

namespace {

using namespace tickertape;
using namespace tickertape::actors;

std::shared_ptr<const Tokenizer> bytes() {
  return make_paged_fake_model()->tokenizer();
}

/// The fake's tokenizer writes byte b as id b + 1.
RequestOutput send_byte(RequestActor& actor, unsigned char byte, bool cancelled = false) {
  StreamEvent event = StreamEvent::of_token(byte + 1, 5'000'000);
  return actor.deliver(event, cancelled);
}

RequestOutput send_end(RequestActor& actor, FinishReason reason) {
  StreamEvent event = StreamEvent::of_end(reason, ErrorInfo(), 7, 9'000'000);
  return actor.deliver(event, false);
}

BOOST_AUTO_TEST_CASE(a_character_comes_with_the_token_that_completes_it) {
  RequestActor actor(bytes(), 3, 0);
  BOOST_TEST(send_byte(actor, 0xC3).token->text.empty());
  const RequestOutput output = send_byte(actor, 0xA9);
  BOOST_TEST(output.token->text == "\xC3\xA9");
  BOOST_TEST(output.token->seq == 1U);
}

BOOST_AUTO_TEST_CASE(the_end_carries_usage_and_times) {
  RequestActor actor(bytes(), 3, 1'000'000);
  StreamEvent started(StreamEvent::Kind::started, 3'000'000);
  BOOST_TEST(!actor.deliver(started, false).finish);
  send_byte(actor, 'a');
  const RequestOutput output = send_end(actor, FinishReason::length);
  BOOST_REQUIRE(output.finish.has_value());
  BOOST_TEST((output.finish->reason == FinishReason::length));
  BOOST_TEST(output.finish->usage.prompt_tokens == 3U);
  BOOST_TEST(output.finish->usage.completion_tokens == 1U);
  BOOST_TEST(output.finish->timings.queued_ms == 2.0);
  BOOST_TEST(output.finish->timings.prefill_ms == 2.0);
  BOOST_TEST(output.finish->timings.decode_ms == 4.0);
  BOOST_TEST(output.finish->timings.ticks == 7U);
}

BOOST_AUTO_TEST_CASE(a_cancellation_goes_before_what_the_lane_still_sends) {
  RequestActor actor(bytes(), 3, 0);
  send_byte(actor, 'a');
  const RequestOutput output = send_byte(actor, 'b', /*cancelled=*/true);
  BOOST_TEST(!output.token.has_value());
  BOOST_TEST(output.wasted);
  BOOST_TEST((output.finish->reason == FinishReason::cancelled));
  BOOST_TEST(output.finish->usage.completion_tokens == 1U);
  // Later events give no second end.
  BOOST_TEST(send_byte(actor, 'c', true).wasted);
  BOOST_TEST(!send_end(actor, FinishReason::length).finish.has_value());
}

BOOST_AUTO_TEST_CASE(an_end_is_final_whatever_comes_later) {
  RequestActor actor(bytes(), 3, 0);
  BOOST_TEST(send_end(actor, FinishReason::stop).finish.has_value());
  StreamEvent poke(StreamEvent::Kind::poke, 0);
  BOOST_TEST(!actor.deliver(poke, true).finish.has_value());
}

}  // namespace
