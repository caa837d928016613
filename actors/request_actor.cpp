// RequestActor: tokens into text, and the one end of a request.
#include "actors/request_actor.hpp"

#include <algorithm>
#include <exception>
#include <string>
#include <utility>

#include <tickertape/assert.hpp>

#include "actors/prefetch.hpp"

namespace tickertape::actors {
namespace {

double milliseconds(std::int64_t from_ns, std::int64_t to_ns) {
  return from_ns < 0 || to_ns < from_ns ? 0.0 : static_cast<double>(to_ns - from_ns) / 1e6;
}

}  // namespace

RequestActor::RequestActor(const RequestSetup& setup)
    : choices_(setup.num_choices, Choice(ChoiceText(setup.tokenizer, setup.text))),
      num_left_(setup.num_choices),
      has_text_(setup.tokenizer != nullptr),
      submitted_ns_(setup.submitted_ns),
      task_(run()) {
  finish_.usage.prompt_tokens = setup.prompt_tokens;
  const bool done = task_.start(nullptr, nullptr);
  TICKERTAPE_ASSERT(!done);
}

RequestOutput RequestActor::deliver(StreamEvent& event, bool cancelled) {
  RequestOutput output;
  event_ = &event;
  output_ = &output;
  cancelled_ = cancelled;
  std::exchange(waiter_, nullptr).resume();
  TICKERTAPE_ASSERT(waiter_ != nullptr);
  return output;
}

void RequestActor::prefetch() const noexcept {
  constexpr std::size_t kFrame = 96;  // Of run(), as both compilers make it.
  prefetch_lines(waiter_.address(), kFrame);
  prefetch_lines(choices_.data(), has_text_ ? sizeof(Choice) : sizeof(ChoiceFinish));
}

runtime::Task<> RequestActor::run() {
  for (;;) {
    StreamEvent& event = co_await NextEvent(*this);
    const bool is_token = event.kind == StreamEvent::Kind::token;
    if (num_left_ == 0 || (is_token && choices_[event.choice].ended())) {
      output_->wasted = is_token;
      continue;
    }
    if (event.kind != StreamEvent::Kind::poke) last_ns_ = event.at_ns;
    ticks_ = std::max(ticks_, event.ticks);
    // The reader's word goes before what the lane still sends.
    try {
      if (cancelled_) {
        on_cancelled(event);
      } else {
        on_event(event);
      }
    } catch (const std::exception& error) {
      fail(error.what());
    } catch (...) {
      fail("an exception of an unknown kind");
    }
  }
}

/// Out of memory, or a tokenizer of the user's that throws: it costs this request.
void RequestActor::fail(const char* what) {
  EventDetails details;
  details.error = ErrorInfo{Errc::internal, std::string("reading a token failed: ") + what, {}, 0};
  output_->token.reset();
  output_->stopped = false;
  output_->failed = true;
  for (Choice& choice : choices_) end_choice(choice, FinishReason::error, &details);
}

void RequestActor::on_event(StreamEvent& event) {
  Choice& choice = choices_[event.choice];
  switch (event.kind) {
    case StreamEvent::Kind::started:
      if (started_ns_ < 0) started_ns_ = event.at_ns;
      break;
    case StreamEvent::Kind::token:
      on_token(event, choice);
      break;
    case StreamEvent::Kind::scores:
      for (PromptLogprob& score : event.details->scores) {
        finish_.prompt_logprobs.push_back(std::move(score));
      }
      break;
    case StreamEvent::Kind::preempted:
      ++finish_.timings.preemptions;
      output_->notice = Notice{Notice::Kind::preempted, event.how};
      break;
    case StreamEvent::Kind::resumed:
      output_->notice = Notice{Notice::Kind::resumed, event.how};
      break;
    case StreamEvent::Kind::end:
      end_choice(choice, event.reason, event.details.get());
      break;
    case StreamEvent::Kind::poke:
      break;
  }
}

void RequestActor::on_token(StreamEvent& event, Choice& choice) {
  if (first_token_ns_ < 0) first_token_ns_ = event.at_ns;
  const bool is_stop = event.reason == FinishReason::stop;
  Token& token = output_->token.emplace();
  token.id = event.token;
  token.index = event.choice;
  token.seq = choice.finish.completion_tokens;
  if (has_text_) {
    token.text = choice.text.push(event.token, event.reason != FinishReason::none, is_stop);
  }
  if (event.details) {
    token.logprob = event.details->logprob;
    token.top_logprobs = std::move(event.details->top);
  }
  FinishReason reason = event.reason;
  const std::string* const stop = has_text_ ? choice.text.stopped_by() : nullptr;
  if (stop != nullptr) {
    choice.finish.stop = *stop;
    output_->stopped = reason == FinishReason::none;  // Else the lane has ended it already.
    reason = FinishReason::stop;
  } else if (is_stop) {
    choice.finish.stop_token = event.token;
  }
  token.finish_reason = reason;
  ++choice.finish.completion_tokens;
  if (reason == FinishReason::none) return;
  end_choice(choice, reason, nullptr);
  if (num_left_ > 0) output_->choice_finish = choice.finish;
}

void RequestActor::end_choice(Choice& choice, FinishReason reason, const EventDetails* details) {
  if (choice.ended()) return;  // By a stop string, before the lane said so.
  choice.finish.reason = reason;
  if (details != nullptr && reason == FinishReason::error) choice.finish.error = details->error;
  if (--num_left_ == 0) finish(last_ns_);
}

void RequestActor::on_cancelled(const StreamEvent& event) {
  output_->wasted = event.kind == StreamEvent::Kind::token;
  for (Choice& choice : choices_) end_choice(choice, FinishReason::cancelled, nullptr);
}

void RequestActor::finish(std::int64_t at_ns) {
  finish_.reason = choices_.front().finish.reason;
  for (const Choice& choice : choices_) {
    if (choice.finish.reason == FinishReason::error && !finish_.error) {
      finish_.reason = FinishReason::error;
      finish_.error = choice.finish.error;
    }
    finish_.usage.completion_tokens += choice.finish.completion_tokens;
    finish_.choices.push_back(choice.finish);
  }
  finish_.timings.ticks = ticks_;
  const std::int64_t decode_from = first_token_ns_ < 0 ? at_ns : first_token_ns_;
  const std::int64_t prefill_from = started_ns_ < 0 ? at_ns : started_ns_;
  finish_.timings.queued_ms = milliseconds(submitted_ns_, prefill_from);
  finish_.timings.prefill_ms = milliseconds(started_ns_, decode_from);
  finish_.timings.decode_ms = milliseconds(first_token_ns_, at_ns);
  output_->finish = std::move(finish_);
}

}  // namespace tickertape::actors
