// RequestActor: tokens into text, and the one end of a request.
#include "actors/request_actor.hpp"

#include <utility>

#include <tickertape/assert.hpp>

namespace tickertape::actors {
namespace {

double milliseconds(std::int64_t from_ns, std::int64_t to_ns) {
  return from_ns < 0 || to_ns < from_ns ? 0.0 : static_cast<double>(to_ns - from_ns) / 1e6;
}

}  // namespace

RequestActor::RequestActor(std::shared_ptr<const Tokenizer> tokenizer, std::uint32_t prompt_tokens,
                           std::int64_t submitted_ns)
    : submitted_ns_(submitted_ns), task_(run()) {
  if (tokenizer) detokenizer_.emplace(std::move(tokenizer));
  finish_.usage.prompt_tokens = prompt_tokens;
  const bool done = task_.start(nullptr, nullptr);
  TICKERTAPE_ASSERT(!done);
}

RequestOutput RequestActor::deliver(StreamEvent& event, bool cancelled) {
  event_ = &event;
  cancelled_ = cancelled;
  std::exchange(waiter_, nullptr).resume();
  TICKERTAPE_ASSERT(waiter_ != nullptr);
  return std::exchange(output_, RequestOutput());
}

runtime::Task<> RequestActor::run() {
  for (;;) {
    StreamEvent& event = co_await NextEvent(*this);
    if (ended_) {
      output_.wasted = event.kind == StreamEvent::Kind::token;
      continue;
    }
    if (event.kind != StreamEvent::Kind::poke) last_ns_ = event.at_ns;
    // The reader's word goes before what the lane still sends.
    if (cancelled_) {
      output_.wasted = event.kind == StreamEvent::Kind::token;
      on_end(FinishReason::cancelled, event.details.get(), last_ns_);
      continue;
    }
    switch (event.kind) {
      case StreamEvent::Kind::started:
        started_ns_ = event.at_ns;
        break;
      case StreamEvent::Kind::token:
        on_token(event);
        break;
      case StreamEvent::Kind::scores:
        for (PromptLogprob& score : event.details->scores) scores_.push_back(std::move(score));
        break;
      case StreamEvent::Kind::preempted:
        ++finish_.timings.preemptions;
        output_.notice = Notice{Notice::Kind::preempted, event.how};
        break;
      case StreamEvent::Kind::resumed:
        output_.notice = Notice{Notice::Kind::resumed, event.how};
        break;
      case StreamEvent::Kind::end:
        on_end(event.reason, event.details.get(), event.at_ns);
        break;
      case StreamEvent::Kind::poke:
        break;
    }
  }
}

void RequestActor::on_token(StreamEvent& event) {
  if (first_token_ns_ < 0) first_token_ns_ = event.at_ns;
  Token token;
  token.id = event.token;
  token.seq = next_seq_++;
  if (detokenizer_) token.text = detokenizer_->push(event.token);
  if (event.details) {
    token.logprob = event.details->logprob;
    token.top_logprobs = std::move(event.details->top);
  }
  ++finish_.usage.completion_tokens;
  output_.token = std::move(token);
}

void RequestActor::on_end(FinishReason reason, const EventDetails* details, std::int64_t at_ns) {
  ended_ = true;
  if (detokenizer_) detokenizer_->finish();
  finish_.reason = reason;
  finish_.prompt_logprobs = std::move(scores_);
  if (details != nullptr) {
    if (reason == FinishReason::error) finish_.error = details->error;
    finish_.timings.ticks = details->ticks;
  }
  const std::int64_t decode_from = first_token_ns_ < 0 ? at_ns : first_token_ns_;
  const std::int64_t prefill_from = started_ns_ < 0 ? at_ns : started_ns_;
  finish_.timings.queued_ms = milliseconds(submitted_ns_, prefill_from);
  finish_.timings.prefill_ms = milliseconds(started_ns_, decode_from);
  finish_.timings.decode_ms = milliseconds(first_token_ns_, at_ns);
  output_.finish = std::move(finish_);
}

}  // namespace tickertape::actors
