// Intake: what is refused at the door, and how it is said.
#include <boost/test/unit_test.hpp>
#include <functional>
#include <limits>
#include <string>

#include <tickertape/fake.hpp>

#include "actors/intake.hpp"
#include "actors/request_check.hpp"

namespace {

using namespace tickertape;
using namespace tickertape::actors;

struct Door {
  Door() {
    IntakeOptions options;
    options.limits = RequestLimits{64, 1000, 4};
    options.max_queued_requests = 2;
    options.max_queued_tokens = 100;
    intake.emplace(make_paged_fake_model(), options, port, [] { return 0; }, [] { return 7; });
  }
  ErrorInfo refusal(const Request& request) {
    auto outcome = intake->preparer().prepare(request);
    auto* error = std::get_if<ErrorInfo>(&outcome);
    return error == nullptr ? ErrorInfo() : *error;
  }
  std::shared_ptr<LanePort> port = std::make_shared<LanePort>();
  std::optional<Intake> intake;
};

Request text(std::string prompt) {
  Request request;
  request.prompt = std::move(prompt);
  return request;
}

BOOST_AUTO_TEST_CASE(every_number_out_of_range_is_named) {
  struct Case {
    const char* param;
    std::function<void(Request&)> spoil;
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Case cases[] = {
      {"temperature", [](Request& r) { r.sampling.temperature = -1; }},
      {"temperature", [](Request& r) { r.sampling.temperature = 2.0001; }},
      {"temperature", [=](Request& r) { r.sampling.temperature = nan; }},
      {"top_p", [](Request& r) { r.sampling.top_p = 1.0001; }},
      {"top_p", [](Request& r) { r.sampling.top_p = -0.1; }},
      {"min_p", [](Request& r) { r.sampling.min_p = 1.1; }},
      {"min_p", [=](Request& r) { r.sampling.min_p = nan; }},
      {"top_k", [](Request& r) { r.sampling.top_k = -2; }},
      {"logprobs", [](Request& r) { r.sampling.logprobs = 21; }},
      {"logprobs", [](Request& r) { r.sampling.logprobs = -2; }},
      {"prompt_logprobs", [](Request& r) { r.prompt_logprobs = 21; }},
      {"n", [](Request& r) { r.n = 0; }},
      {"max_tokens", [](Request& r) { r.max_tokens = 0; }},
      {"typical_p", [](Request& r) { r.sampling.typical_p = 1.5; }},
      {"repetition_penalty", [](Request& r) { r.sampling.repetition_penalty = 0; }},
      {"repetition_penalty", [=](Request& r) { r.sampling.repetition_penalty = nan; }},
      {"frequency_penalty", [](Request& r) { r.sampling.frequency_penalty = 2.01; }},
      {"presence_penalty", [](Request& r) { r.sampling.presence_penalty = -2.01; }},
      {"logit_bias", [](Request& r) { r.sampling.logit_bias = {{5, 101}}; }},
      {"logit_bias", [](Request& r) { r.sampling.logit_bias = {{5, 1}, {6, 1}, {5, 2}}; }},
      {"min_tokens", [](Request& r) { r.sampling.min_tokens = r.max_tokens + 1; }},
      {"stop", [](Request& r) { r.stop = {"a", ""}; }},
      {"stop", [](Request& r) { r.stop = {std::string(1025, 'x')}; }},
      {"stop", [](Request& r) { r.stop.assign(65, "x"); }},
      {"stop", [](Request& r) { r.stop = {"\x80"}; }},
      {"continue_final_message", [](Request& r) { r.chat.continue_final_message = true; }},
      {"window", [](Request& r) { r.window = 0; }},
      {"window", [](Request& r) { r.window = 65537; }},
      {"deadline_ms", [](Request& r) { r.deadline_ms = -1; }},
      {"deadline_ms", [=](Request& r) { r.deadline_ms = nan; }},
      {"prompt", [](Request& r) { r.prompt_ids = {1}; }},
  };
  for (const Case& one : cases) {
    Request request = text("hello");
    BOOST_TEST(!check_fields(request).has_value());
    one.spoil(request);
    const auto error = check_fields(request);
    BOOST_REQUIRE(error.has_value());
    BOOST_TEST(error->param == one.param);
    BOOST_TEST(error->status() == 400);
    BOOST_TEST(error->message.find(one.param) != std::string::npos);
  }
}

BOOST_AUTO_TEST_CASE(the_prompt_must_leave_room_for_one_token) {
  Door door;
  Request request;
  request.prompt_ids.assign(63, 5);
  auto outcome = door.intake->preparer().prepare(request);
  BOOST_TEST(std::get<Prepared>(outcome).max_tokens == 1U);
  request.prompt_ids.assign(64, 5);
  BOOST_TEST((door.refusal(request).code == Errc::prompt_too_long));
  BOOST_TEST(door.refusal(request).param == "prompt_ids");
  request.max_tokens = 0;
  request.prompt_logprobs = 0;
  BOOST_TEST((door.refusal(request).code == Errc::ok));
}

BOOST_AUTO_TEST_CASE(ids_and_texts_that_cannot_be_are_refused) {
  Door door;
  BOOST_TEST((door.refusal(text("")).code == Errc::prompt_empty));
  Request request;
  for (const TokenId id : {-1, 1000, std::numeric_limits<TokenId>::max()}) {
    request.prompt_ids = {1, id};
    BOOST_TEST(door.refusal(request).param == "prompt_ids");
    BOOST_TEST((door.refusal(request).code == Errc::invalid_request));
  }
  const ErrorInfo error = door.refusal(text(std::string(1'000'000, 'x')));
  BOOST_TEST((error.code == Errc::prompt_too_long));
  BOOST_TEST(error.message.find("1000000") != std::string::npos);
  Request chat;
  chat.messages.push_back(ChatMessage{"user", "hi"});
  BOOST_TEST((door.refusal(chat).code == Errc::not_supported));
  BOOST_TEST(door.refusal(chat).param == "messages");
}

BOOST_AUTO_TEST_CASE(choices_and_ids_are_held_against_the_model) {
  Door door;
  Request request = text("hello");
  request.n = 4;
  BOOST_TEST((door.refusal(request).code == Errc::ok));
  request.n = 5;
  BOOST_TEST(door.refusal(request).param == "n");
  request.n = 1;
  for (const TokenId id : {-1, 1000, std::numeric_limits<TokenId>::max()}) {
    Request biased = request;
    biased.sampling.logit_bias = {{999, 1.0F}, {id, 1.0F}};
    BOOST_TEST(door.refusal(biased).param == "logit_bias");
    Request stopped = request;
    stopped.sampling.stop_token_ids = {id};
    BOOST_TEST(door.refusal(stopped).param == "stop_token_ids");
    Request allowed = request;
    allowed.sampling.allowed_token_ids = {id};
    BOOST_TEST(door.refusal(allowed).param == "allowed_token_ids");
  }
  // Only tokens that end, and none of them at first: no token would be possible.
  request.sampling.allowed_token_ids = {0, 7};
  request.sampling.stop_token_ids = {7};
  BOOST_TEST((door.refusal(request).code == Errc::ok));
  request.sampling.min_tokens = 1;
  BOOST_TEST(door.refusal(request).param == "allowed_token_ids");
}

BOOST_AUTO_TEST_CASE(a_full_queue_says_when_to_come_back) {
  Door door;
  door.port->counters().queued_requests = 2;
  const auto full = door.intake->check_queue(1, 1);
  BOOST_REQUIRE(full.has_value());
  BOOST_TEST(full->status() == 429);
  BOOST_TEST(full->retry_after >= 1.0);
  door.port->counters().queued_requests = 1;
  door.port->counters().queued_tokens = 90;
  BOOST_TEST(door.intake->check_queue(1, 11)->status() == 429);
  BOOST_TEST(!door.intake->check_queue(1, 10).has_value());
  // Each choice takes a place; an empty queue takes a request whatever its number of choices.
  BOOST_TEST(door.intake->check_queue(2, 1)->status() == 429);
  door.port->counters().queued_requests = 0;
  BOOST_TEST(!door.intake->check_queue(4, 1).has_value());
  door.intake->drain();
  BOOST_TEST(door.intake->check_queue(1, 10)->status() == 503);
}

}  // namespace
