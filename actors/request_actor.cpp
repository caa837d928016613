// RequestActor: tokens into text, and the one end of a request.
#include "actors/request_actor.hpp"

#include <algorithm>
#include <exception>
#include <new>
#include <string>
#include <utility>

namespace tickertape::actors {
namespace {

/// Without memory for the words the code has to do.
ErrorInfo copy_of(const ErrorInfo& error) noexcept {
  try {
    return error;
  } catch (const std::bad_alloc&) {
    return ErrorInfo{error.code, {}, {}, error.retry_after};
  }
}

ErrorInfo failure(const char* what) noexcept {
  try {
    return ErrorInfo{Errc::internal, std::string("reading a token failed: ") + what, {}, 0};
  } catch (const std::bad_alloc&) {
    return ErrorInfo{Errc::internal, {}, {}, 0};
  }
}

double milliseconds(std::int64_t from_ns, std::int64_t to_ns) {
  return from_ns < 0 || to_ns < from_ns ? 0.0 : static_cast<double>(to_ns - from_ns) / 1e6;
}

}  // namespace

RequestActor::RequestActor(const RequestSetup& setup)
    : has_text_(setup.tokenizer != nullptr),
      others_(setup.num_choices - 1, Choice(ChoiceText(setup.tokenizer, setup.text))),
      first_(ChoiceText(setup.tokenizer, setup.text)),
      num_left_(setup.num_choices),
      submitted_ns_(setup.submitted_ns),
      task_(run()) {
  finish_.usage.prompt_tokens = setup.prompt_tokens;
  finish_.choices.reserve(setup.num_choices);
  const bool done = task_.start(nullptr, nullptr);
  TICKERTAPE_ASSERT(!done);
}

runtime::Task<> RequestActor::run() {
  for (;;) on_event(co_await NextEvent(*this));
}

void RequestActor::on_event(StreamEvent& event) noexcept {
  try {
    if (event.kind == StreamEvent::Kind::token) {
      on_token(event, choice(event.choice));
    } else if (num_left_ > 0) {
      on_other(event, choice(event.choice));
    }
  } catch (const std::exception& error) {
    fail(error.what());
  } catch (...) {
    fail("an exception of an unknown kind");
  }
}

/// Out of memory, or a tokenizer of the user's that throws: it costs this request.
void RequestActor::fail(const char* what) noexcept {
  RequestOutput& output = output_->more();
  output.has_token = false;
  output.stopped = false;
  output.failed = true;
  for_each_choice([&](Choice& each) { end_choice(each, FinishReason::error, failure(what)); });
}

inline void RequestActor::on_token(StreamEvent& event, Choice& its_choice) {
  if (its_choice.ended()) {
    output_->more().wasted = true;
    return;
  }
  last_ns_ = event.at_ns;
  ticks_ = std::max(ticks_, event.ticks);
  if (cancelled_) return on_cancelled(event);
  Token& token = output_->token;
  token.id = event.token;
  token.index = event.choice;
  token.seq = its_choice.finish.completion_tokens;
  token.finish_reason = event.reason;
  output_->has_token = true;
  if (token.seq == 0 && first_token_ns_ < 0) first_token_ns_ = event.at_ns;
  if (has_text_ || event.details) add_text_and_scores(event, its_choice);
  if (token.finish_reason != FinishReason::none) return on_last_token(event, its_choice);
  ++its_choice.finish.completion_tokens;
}

void RequestActor::add_text_and_scores(StreamEvent& event, Choice& its_choice) {
  Token& token = output_->more().token;
  if (has_text_) {
    token.text = its_choice.text.push(event.token, event.reason != FinishReason::none,
                                      event.reason == FinishReason::stop);
    if (its_choice.text.stopped_by() != nullptr) token.finish_reason = FinishReason::stop;
  }
  if (event.details) {
    token.logprob = event.details->logprob;
    token.top_logprobs.swap(event.details->top);
  }
}

void RequestActor::on_last_token(const StreamEvent& event, Choice& its_choice) {
  const std::string* const stop = its_choice.text.stopped_by();
  if (stop != nullptr) {
    its_choice.finish.stop = *stop;
    output_->more().stopped =
        event.reason == FinishReason::none;  // Else the lane has ended it already.
  } else if (event.reason == FinishReason::stop) {
    its_choice.finish.stop_token = event.token;
  }
  ++its_choice.finish.completion_tokens;
  end_choice(its_choice, output_->token.finish_reason, ErrorInfo());
  if (num_left_ > 0) output_->more().choice_finish = &its_choice.finish;
}

/// The reader's word, a cancellation, goes before what the lane still sends: here as with tokens.
void RequestActor::on_other(StreamEvent& event, Choice& its_choice) {
  if (event.kind != StreamEvent::Kind::poke) last_ns_ = event.at_ns;
  ticks_ = std::max(ticks_, event.ticks);
  if (cancelled_) return on_cancelled(event);
  switch (event.kind) {
    case StreamEvent::Kind::started:
      if (started_ns_ < 0) started_ns_ = event.at_ns;
      if (event.details) {
        // The prompt is the same for all choices.
        finish_.usage.cached_tokens =
            std::max(finish_.usage.cached_tokens, event.details->cached_tokens);
        finish_.timings.cached_tokens = finish_.usage.cached_tokens;
      }
      break;
    case StreamEvent::Kind::scores:
      for (PromptLogprob& score : event.details->scores) {
        finish_.prompt_logprobs.push_back(std::move(score));
      }
      break;
    case StreamEvent::Kind::preempted:
      ++finish_.timings.preemptions;
      if (event.details) finish_.timings.swapped_pages += event.details->swapped_pages;
      output_->more().notice = Notice{Notice::Kind::preempted, event.how};
      break;
    case StreamEvent::Kind::resumed:
      if (event.details) finish_.timings.swapped_pages += event.details->swapped_pages;
      output_->more().notice = Notice{Notice::Kind::resumed, event.how};
      break;
    case StreamEvent::Kind::end:
      end_choice(its_choice, event.reason,
                 event.details ? std::move(event.details->error) : ErrorInfo());
      break;
    case StreamEvent::Kind::token:
    case StreamEvent::Kind::poke:
      break;
  }
}

void RequestActor::end_choice(Choice& choice, FinishReason reason, ErrorInfo error) noexcept {
  if (choice.ended()) return;  // By a stop string, before the lane said so.
  choice.finish.reason = reason;
  if (reason == FinishReason::error) choice.finish.error = std::move(error);
  if (--num_left_ == 0) finish(last_ns_);
}

void RequestActor::on_cancelled(const StreamEvent& event) {
  output_->more().wasted = event.kind == StreamEvent::Kind::token;
  for_each_choice([&](Choice& each) { end_choice(each, FinishReason::cancelled, ErrorInfo()); });
}

void RequestActor::finish(std::int64_t at_ns) noexcept {
  finish_.reason = first_.finish.reason;
  for_each_choice([&](Choice& each) {
    if (each.finish.reason == FinishReason::error && !finish_.error) {
      finish_.reason = FinishReason::error;
      finish_.error = copy_of(each.finish.error);
    }
    finish_.usage.completion_tokens += each.finish.completion_tokens;
    finish_.choices.push_back(std::move(each.finish));  // There is room; its reason stays.
  });
  finish_.timings.ticks = ticks_;
  const std::int64_t decode_from = first_token_ns_ < 0 ? at_ns : first_token_ns_;
  const std::int64_t prefill_from = started_ns_ < 0 ? at_ns : started_ns_;
  finish_.timings.queued_ms = milliseconds(submitted_ns_, prefill_from);
  finish_.timings.prefill_ms = milliseconds(started_ns_, decode_from);
  finish_.timings.decode_ms = milliseconds(first_token_ns_, at_ns);
  output_->more().finish = &finish_;
}

}  // namespace tickertape::actors
