// StepperActor: one batched forward pass per tick.
#include "actors/stepper.hpp"

#include <algorithm>
#include <utility>

#include <tickertape/assert.hpp>

#include "actors/stream.hpp"
#include "actors/tags.hpp"

namespace tickertape::actors {

StepperActor::StepperActor(Backend& backend, LaneHost& host, LanePort& port, Plans& plans,
                           AllocatorInbox& allocator, std::vector<TokenId> end_tokens,
                           bool holds_batches)
    : backend_(backend),
      host_(host),
      port_(port),
      plans_(plans),
      allocator_(allocator),
      end_tokens_(std::move(end_tokens)),
      delivery_(host, port, holds_batches),
      holds_batches_(holds_batches) {}

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
    start_pass(message);
    while (pass_.num_pending > 0) {
      const auto completed = co_await host_.completions().receive(&stop);
      if (!completed) break;
      end_operation(*completed.message);
    }
    if (pass_.num_pending > 0 || pass_.abandoned) break;
    demand = commit(message.plan);
    delivery_.flush();
  }
}

void StepperActor::start_pass(const PlanMessage& message) {
  const Plan& plan = message.plan;
  pass_ = Pass();
  pass_.started_ns = host_.now();
  start_moves(plan);
  // Operations take effect in their order: passes need not wait for moves, nor for each other.
  pass_.first_forward = next_ticket_;
  pass_.slices.resize(plan.rows.empty() ? 0 : plan.rows.back().slice + 1);
  std::size_t first = 0;
  while (first < plan.rows.size()) {
    std::size_t end = first;
    while (end < plan.rows.size() && plan.rows[end].slice == plan.rows[first].slice) ++end;
    Batch batch = make_batch(plan, first, end);
    if (first == 0) {
      batch.closed = plan.closed;
      for (const PlanOpened& opened : plan.opened) open_slot(batch, opened, *slots_[opened.slot]);
    }
    ++pass_.num_pending;
    backend_.forward(next_ticket_++, batch);
    first = end;
  }
  pass_.end = next_ticket_;
}

void StepperActor::start_moves(const Plan& plan) {
  pass_.first_move = next_ticket_;
  move(plan.swap_out, &Backend::swap_out);
  move(plan.swap_in, &Backend::swap_in);
  pass_.num_swaps = pass_.num_pending;
  move(plan.copies, &Backend::copy_pages);
}

void StepperActor::move(const std::vector<PageCopy>& copies,
                        void (Backend::*operation)(Ticket, std::span<const PageMove>)) {
  if (copies.empty()) return;
  std::vector<PageMove> moves;
  moves.reserve(copies.size());
  for (const PageCopy& copy : copies) moves.push_back(PageMove{0, copy.from, copy.to});
  ++pass_.num_pending;
  (backend_.*operation)(next_ticket_++, moves);
}

void StepperActor::end_operation(Ticket ticket) {
  TICKERTAPE_ASSERT(pass_.num_pending > 0 && ticket >= pass_.first_move && ticket < next_ticket_);
  --pass_.num_pending;
  BatchResult result = backend_.take(ticket);
  const bool is_swap = ticket < pass_.first_move + pass_.num_swaps;
  if (is_swap) pass_.swapped_ns = host_.now();
  if (result.status == PassStatus::abandoned) pass_.abandoned = true;
  if (result.status == PassStatus::failed) {
    if (result.fault.empty()) result.fault = "the backend failed";
    if (is_swap) {
      // It costs those that were moved, nobody else.
      pass_.swap_fault = std::move(result.fault);
    } else {
      // What a pass read may not have been there: no row of the tick counts.
      pass_.fault = std::move(result.fault);
    }
    return;
  }
  if (ticket >= pass_.first_forward) {
    pass_.slices.at(ticket - pass_.first_forward) = std::move(result);
  }
}

void StepperActor::take_plan(PlanMessage& message) {
  const Plan& plan = message.plan;
  if (plan.batch_ended) delivery_.release_held();
  if (holds_batches_) {
    // Those that ended kept their slots, for the rows that a static batch computes all the same.
    for (const SlotId slot : plan.closed) slots_[slot].reset();
  }
  for (const PlanPreempted& preempted : plan.preempted) {
    const std::shared_ptr<Sequence> sequence = leave_slot(preempted.id);
    TICKERTAPE_ASSERT(sequence != nullptr);
    delivery_.notify(*sequence, preempted);
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
    delivery_.notify(*message.opened[i], opened);
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

Batch StepperActor::make_batch(const Plan& plan, std::size_t first, std::size_t end) const {
  Batch batch;
  PageTables& tables = batch.page_tables.emplace_back();
  const std::uint32_t first_page = plan.tables.offsets[first];
  const std::uint32_t end_page = plan.tables.offsets[end];
  tables.pages.assign(plan.tables.pages.begin() + first_page, plan.tables.pages.begin() + end_page);
  batch.rows.reserve(end - first);
  for (std::size_t i = first; i < end; ++i) {
    tables.offsets.push_back(plan.tables.offsets[i] - first_page);
    const PlanRow& planned = plan.rows[i];
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
  tables.offsets.push_back(end_page - first_page);
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
  row.first_id = static_cast<std::uint32_t>(batch.ids.size());
  if (planned.kind == RowKind::padding) {
    batch.ids.insert(batch.ids.end(), planned.num_tokens,
                     sequence.tokens[sequence.prompt_length - 1]);
    return;
  }
  TICKERTAPE_ASSERT(end <= sequence.tokens.size());
  batch.ids.insert(batch.ids.end(), sequence.tokens.begin() + static_cast<std::ptrdiff_t>(first),
                   sequence.tokens.begin() + static_cast<std::ptrdiff_t>(end));
  if (planned.output == RowOutput::all_logprobs) {
    batch.ids.push_back(end < sequence.tokens.size() ? sequence.tokens[end] : -1);
  }
}

Demand StepperActor::commit(const Plan& plan) {
  Demand demand;
  demand.done.reserve(plan.rows.size());
  demand.swap_failed = !pass_.swap_fault.empty();
  if (pass_.num_swaps > 0) demand.swap_ns = pass_.swapped_ns - pass_.started_ns;
  if (!plan.rows.empty() && pass_.fault.empty()) demand.pass_ns = host_.now() - pass_.started_ns;
  std::size_t index = 0;  // Of the row in its slice.
  bool ended_in_tick = false;
  for (std::size_t i = 0; i < plan.rows.size(); ++i, ++index) {
    const PlanRow& planned = plan.rows[i];
    if (i > 0 && planned.slice != plan.rows[i - 1].slice) index = 0;
    if (planned.kind == RowKind::finished) go_on_for_nothing(planned, index);
    if (planned.kind != RowKind::work) continue;
    const bool is_first = i == 0 || plan.rows[i - 1].id != planned.id;
    if (is_first) ++slots_[planned.slot]->ticks;
    const BatchResult& result = pass_.slices[planned.slice];
    const bool is_lost = !pass_.fault.empty() || lost_by_swap(plan, planned);
    const RowResult* const row = is_lost ? nullptr : &result.rows[index];
    RowDone done;
    done.id = planned.id;
    if (!is_first && ended_in_tick) {
      done.ended = true;  // By an earlier row.
    } else if (ends_by_fault(planned, row)) {
      done.ended = true;
    } else {
      done = commit_row(planned, result, *row);
    }
    ended_in_tick = done.ended;
    const bool is_last = i + 1 == plan.rows.size() || plan.rows[i + 1].id != planned.id;
    if (done.ended && is_last && !holds_batches_) slots_[planned.slot].reset();
    demand.done.push_back(done);
  }
  return demand;
}

/// What a static batch lets an ended sequence say: the next row reads it, nobody else does.
void StepperActor::go_on_for_nothing(const PlanRow& planned, std::size_t index) {
  std::vector<TokenId>& tokens = slots_[planned.slot]->tokens;
  const BatchResult& result = pass_.slices[planned.slice];
  const bool has_token = pass_.fault.empty() && result.rows[index].num_tokens > 0;
  tokens.push_back(has_token ? result.tokens[result.rows[index].first_token] : tokens.back());
}

/// Its pages did not come back from the host.
bool StepperActor::lost_by_swap(const Plan& plan, const PlanRow& planned) const {
  if (pass_.swap_fault.empty()) return false;
  return std::any_of(plan.opened.begin(), plan.opened.end(), [&](const PlanOpened& opened) {
    return opened.id == planned.id && opened.resumed && opened.how == Notice::How::swap;
  });
}

/// Ends the row's sequence if its result is none. `row` is null when the whole tick failed.
bool StepperActor::ends_by_fault(const PlanRow& planned, const RowResult* row) {
  Sequence& sequence = *slots_[planned.slot];
  ErrorInfo error;
  if (row == nullptr) {
    const std::string& fault = pass_.fault.empty() ? pass_.swap_fault : pass_.fault;
    error = ErrorInfo{Errc::backend_failed, fault, {}, 0};
  } else if (row->bad_numbers) {
    error = ErrorInfo{Errc::backend_failed, "the model gave numbers that are not finite", {}, 0};
  } else if (!row->fault.empty()) {
    // What a client's own settings can come to is no possible token; else a processor failed.
    const Errc code = sequence.logit_processor ? Errc::internal : Errc::invalid_request;
    error = ErrorInfo{code, row->fault, {}, 0};
  } else {
    return false;
  }
  delivery_.end(sequence, FinishReason::error, std::move(error));
  return true;
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
    done.by_itself = reason == FinishReason::stop;
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
