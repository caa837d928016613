// StepperActor: one batched forward pass per tick.
#include "actors/stepper.hpp"

#include <algorithm>
#include <utility>

#include <tickertape/assert.hpp>

#include "actors/stream.hpp"
#include "actors/tags.hpp"

namespace tickertape::actors {

StepperActor::StepperActor(Backend& backend, LaneHost& host, LanePort& port, Plans& plans,
                           AllocatorInbox& allocator, std::vector<TokenId> end_tokens)
    : backend_(backend),
      host_(host),
      port_(port),
      plans_(plans),
      allocator_(allocator),
      end_tokens_(std::move(end_tokens)),
      delivery_(host, port) {}

runtime::Task<> StepperActor::run(runtime::StopSource& stop) {
  Demand demand;
  while (!stop.stopped()) {
    const auto sent = allocator_.push(AllocatorMessage(std::move(demand)));
    demand = Demand();
    TICKERTAPE_ASSERT(sent == runtime::PushResult::ok);
    auto received = co_await plans_.receive(&stop);
    if (!received) break;
    PlanMessage message = std::move(*received.message);
    take_plan(message);
    if (!message.plan.rows.empty()) {
      start_pass(message);
      while (pass_.num_pending > 0) {
        const auto completed = co_await host_.completions().receive(&stop);
        if (!completed) break;
        end_operation(*completed.message);
      }
      if (pass_.num_pending > 0 || pass_.result.status == PassStatus::abandoned) break;
      demand = commit(message.plan, pass_.result);
    }
    delivery_.flush();
  }
}

void StepperActor::start_pass(const PlanMessage& message) {
  pass_ = Pass();
  if (!message.plan.copies.empty()) {
    std::vector<PageMove> moves;
    moves.reserve(message.plan.copies.size());
    for (const PageCopy& copy : message.plan.copies)
      moves.push_back(PageMove{0, copy.from, copy.to});
    ++pass_.num_pending;
    backend_.copy_pages(next_ticket_++, moves);
  }
  // Operations take effect in their order: the pass need not wait for the copies.
  const Batch batch = make_batch(message);
  ++pass_.num_pending;
  pass_.forward = next_ticket_++;
  backend_.forward(pass_.forward, batch);
}

void StepperActor::end_operation(Ticket ticket) {
  TICKERTAPE_ASSERT(pass_.num_pending > 0 && ticket <= pass_.forward);
  --pass_.num_pending;
  BatchResult result = backend_.take(ticket);
  const bool copy_failed = ticket != pass_.forward && result.status != PassStatus::ok;
  if (ticket == pass_.forward && pass_.result.status == PassStatus::ok) {
    pass_.result = std::move(result);
  } else if (copy_failed) {
    pass_.result = std::move(result);  // What the pass read was not there: no row counts.
  }
}

void StepperActor::take_plan(PlanMessage& message) {
  const Plan& plan = message.plan;
  for (const PlanPreempted& preempted : plan.preempted) {
    const std::shared_ptr<Sequence> sequence = leave_slot(preempted.id);
    TICKERTAPE_ASSERT(sequence != nullptr);
    delivery_.notify(*sequence, StreamEvent::Kind::preempted, preempted.how);
  }
  for (std::size_t i = 0; i < plan.ended.size(); ++i) {
    ErrorInfo error;
    if (plan.ended[i].reason == FinishReason::error) {
      error = ErrorInfo{Errc::internal, "the request does not fit into the KV pool", {}, 0};
    }
    leave_slot(plan.ended[i].id);
    delivery_.end(*message.ended[i], plan.ended[i].reason, std::move(error));
  }
  for (std::size_t i = 0; i < plan.opened.size(); ++i) {
    const PlanOpened& opened = plan.opened[i];
    if (opened.slot >= slots_.size()) slots_.resize(opened.slot + 1);
    delivery_.notify(*message.opened[i],
                     opened.resumed ? StreamEvent::Kind::resumed : StreamEvent::Kind::started,
                     Notice::How::recompute);
    if (!opened.resumed) port_.counters().prompt_tokens.fetch_add(message.opened[i]->prompt_length);
    slots_[opened.slot] = std::move(message.opened[i]);
  }
}

std::shared_ptr<Sequence> StepperActor::leave_slot(SequenceId id) {
  for (std::shared_ptr<Sequence>& sequence : slots_) {
    if (sequence && sequence->id == id) return std::exchange(sequence, nullptr);
  }
  return nullptr;
}

Batch StepperActor::make_batch(const PlanMessage& message) const {
  Batch batch;
  const Plan& plan = message.plan;
  batch.closed = plan.closed;
  batch.page_tables.push_back(plan.tables);
  batch.rows.reserve(plan.rows.size());
  for (const PlanOpened& opened : plan.opened) open_slot(batch, opened, *slots_[opened.slot]);
  for (const PlanRow& planned : plan.rows) {
    const Sequence& sequence = *slots_[planned.slot];
    TICKERTAPE_ASSERT(sequence.id == planned.id);
    Row row;
    row.slot = planned.slot;
    row.first_position = planned.first_position;
    row.num_tokens = planned.num_tokens;
    row.output = planned.output;
    row.num_outputs = planned.num_outputs;
    row.num_logprobs = planned.output == RowOutput::all_logprobs
                           ? std::max(sequence.prompt_logprobs, sequence.sampling.logprobs)
                           : sequence.sampling.logprobs;
    add_ids(batch, row, planned, sequence);
    batch.rows.push_back(row);
  }
  return batch;
}

void StepperActor::open_slot(Batch& batch, const PlanOpened& opened,
                             const Sequence& sequence) const {
  OpenedSlot slot;
  slot.slot = opened.slot;
  slot.sampling = sequence.sampling;
  slot.seed = sequence.seed;
  slot.choice = sequence.choice;
  slot.prompt_length = sequence.prompt_length;
  if (sequence.sampling.min_tokens > 0) {
    slot.suppressed = end_tokens_;
    const auto& stops = sequence.sampling.stop_token_ids;
    slot.suppressed.insert(slot.suppressed.end(), stops.begin(), stops.end());
  }
  slot.processor = sequence.logit_processor;
  slot.first_token = static_cast<std::uint32_t>(batch.opened_ids.size());
  slot.num_tokens = static_cast<std::uint32_t>(sequence.tokens.size());
  batch.opened_ids.insert(batch.opened_ids.end(), sequence.tokens.begin(), sequence.tokens.end());
  batch.opened.push_back(slot);
}

void StepperActor::add_ids(Batch& batch, Row& row, const PlanRow& planned,
                           const Sequence& sequence) const {
  const std::size_t first = planned.first_position;
  const std::size_t end = first + planned.num_tokens;
  TICKERTAPE_ASSERT(end <= sequence.tokens.size());
  row.first_id = static_cast<std::uint32_t>(batch.ids.size());
  batch.ids.insert(batch.ids.end(), sequence.tokens.begin() + static_cast<std::ptrdiff_t>(first),
                   sequence.tokens.begin() + static_cast<std::ptrdiff_t>(end));
  if (planned.output == RowOutput::all_logprobs) {
    batch.ids.push_back(end < sequence.tokens.size() ? sequence.tokens[end] : -1);
  }
}

Demand StepperActor::commit(const Plan& plan, const BatchResult& result) {
  Demand demand;
  demand.done.reserve(plan.rows.size());
  for (std::size_t i = 0; i < plan.rows.size(); ++i) {
    const PlanRow& planned = plan.rows[i];
    Sequence& sequence = *slots_[planned.slot];
    ++sequence.ticks;
    RowDone done;
    done.id = planned.id;
    if (result.status != PassStatus::ok) {
      delivery_.end(sequence, FinishReason::error,
                    ErrorInfo{Errc::backend_failed, result.fault, {}, 0});
      done.ended = true;
    } else if (result.rows[i].bad_numbers) {
      delivery_.end(
          sequence, FinishReason::error,
          ErrorInfo{Errc::backend_failed, "the model gave numbers that are not finite", {}, 0});
      done.ended = true;
    } else if (!result.rows[i].fault.empty()) {
      // What a client's own settings can come to is no possible token; else a processor failed.
      const Errc code = sequence.logit_processor ? Errc::internal : Errc::invalid_request;
      delivery_.end(sequence, FinishReason::error, ErrorInfo{code, result.rows[i].fault, {}, 0});
      done.ended = true;
    } else {
      done = commit_row(planned, result, result.rows[i]);
    }
    if (done.ended) slots_[planned.slot].reset();
    demand.done.push_back(done);
  }
  return demand;
}

RowDone StepperActor::commit_row(const PlanRow& planned, const BatchResult& result,
                                 const RowResult& row) {
  Sequence& sequence = *slots_[planned.slot];
  RowDone done;
  done.id = planned.id;
  done.num_computed = planned.num_tokens;
  if (planned.output == RowOutput::all_logprobs) {
    deliver_scores(planned, sequence, result, row, done);
  }
  const bool is_full = sequence.tokens.size() >= sequence.max_tokens;
  const bool reached_end = planned.first_position + planned.num_tokens == sequence.tokens.size();
  if (reached_end && is_full) {
    // Only the prompt's log-probabilities were wanted.
    delivery_.end(sequence, FinishReason::length, ErrorInfo());
    done.ended = true;
  } else if (row.num_tokens > 0) {
    sequence.tokens.push_back(result.tokens[row.first_token]);
    const FinishReason reason = end_after(sequence);
    deliver_token(sequence, result, row, reason);
    done.num_emitted = 1;
    done.ended = reason != FinishReason::none;
  }
  return done;
}

void StepperActor::deliver_scores(const PlanRow& planned, Sequence& sequence,
                                  const BatchResult& result, const RowResult& row, RowDone& done) {
  const std::uint32_t end = planned.first_position + planned.num_tokens;
  // The last position's entry, if it is the prompt's last, is the sampled token's.
  const std::uint32_t last = std::min(end, sequence.prompt_length - 1);
  const std::uint32_t first = end - planned.num_outputs;
  StreamEvent event(StreamEvent::Kind::scores, host_.now());
  event.details = std::make_unique<EventDetails>();
  for (std::uint32_t position = first; position < last; ++position) {
    const PositionLogprobs& entry = result.logprobs[row.first_logprob + (position - first)];
    const auto top = result.top.begin() + entry.first_top;
    const auto wanted = std::min<std::uint32_t>(
        entry.num_top, static_cast<std::uint32_t>(std::max(sequence.prompt_logprobs, 0)));
    event.details->scores.push_back(PromptLogprob{entry.chosen, {top, top + wanted}});
  }
  done.num_scored = last > first ? last - first : 0;
  if (done.num_scored > 0) delivery_.send(sequence, std::move(event));
}

void StepperActor::deliver_token(Sequence& sequence, const BatchResult& result,
                                 const RowResult& row, FinishReason reason) {
  StreamEvent event = StreamEvent::of_token(sequence.tokens.back(), host_.now());
  host_.scheduler().trace(kTraceToken, sequence.id,
                          static_cast<std::uint64_t>(sequence.tokens.back()));
  if (sequence.sampling.logprobs >= 0 && row.num_logprobs > 0) {
    const PositionLogprobs& entry = result.logprobs[row.first_logprob + row.num_logprobs - 1];
    const auto top = result.top.begin() + entry.first_top;
    const auto wanted = std::min<std::uint32_t>(
        entry.num_top, static_cast<std::uint32_t>(sequence.sampling.logprobs));
    event.details = std::make_unique<EventDetails>();
    event.details->logprob = entry.chosen.logprob;
    event.details->top.assign(top, top + wanted);
  }
  port_.counters().generation_tokens.fetch_add(1, std::memory_order_relaxed);
  if (reason == FinishReason::none) {
    delivery_.send(sequence, std::move(event));
  } else {
    delivery_.send_last(sequence, std::move(event), reason);
  }
}

FinishReason StepperActor::end_after(const Sequence& sequence) const {
  const SamplingParams& sampling = sequence.sampling;
  const TokenId last = sequence.tokens.back();
  const bool ends =
      (!sampling.ignore_eos && std::binary_search(end_tokens_.begin(), end_tokens_.end(), last)) ||
      std::binary_search(sampling.stop_token_ids.begin(), sampling.stop_token_ids.end(), last);
  // Backends never sample one too early; a scripted one may say it all the same.
  const std::size_t num_generated = sequence.tokens.size() - sequence.prompt_length;
  if (ends && num_generated > sampling.min_tokens) return FinishReason::stop;
  return sequence.tokens.size() >= sequence.max_tokens ? FinishReason::length : FinishReason::none;
}

}  // namespace tickertape::actors
