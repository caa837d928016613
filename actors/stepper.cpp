// StepperActor: one batched forward pass per tick.
#include "actors/stepper.hpp"

#include <algorithm>
#include <utility>

#include <tickertape/assert.hpp>

#include "actors/stream.hpp"
#include "actors/tags.hpp"

namespace tickertape::actors {
namespace {

/// Those of the rows [first, end).
PageTables tables_of(const PageTables& tables, std::size_t first, std::size_t end) {
  PageTables part;
  const std::uint32_t first_page = tables.offsets[first];
  part.pages.assign(tables.pages.begin() + first_page, tables.pages.begin() + tables.offsets[end]);
  part.offsets.reserve(end - first + 1);
  for (std::size_t i = first; i <= end; ++i) part.offsets.push_back(tables.offsets[i] - first_page);
  return part;
}

}  // namespace

StepperActor::StepperActor(Backend& backend, LaneHost& host, LanePort& port, Plans& plans,
                           AllocatorInbox& allocator, StepperOptions options)
    : backend_(backend),
      host_(host),
      port_(port),
      plans_(plans),
      allocator_(allocator),
      options_(std::move(options)),
      delivery_(host, port, options_.holds_batches) {}

runtime::Task<> StepperActor::run(runtime::StopSource& stop) {
  Demand demand;
  demand.has_landed = false;
  while (!stop.stopped()) {
    const auto sent = allocator_.push(AllocatorMessage(std::move(demand)));
    demand = Demand();
    demand.has_landed = false;
    TICKERTAPE_ASSERT(sent == runtime::PushResult::ok);
    auto received = co_await plans_.receive(&stop);
    if (!received) break;
    take_plan(*received.message);
    const bool is_started = received.message->plan.has_work();
    if (is_started) start_pass(std::move(received.message->plan));
    if (passes_.empty()) {
      delivery_.flush();
      continue;
    }
    // Whoever asks while one is under way is answered at once, be it with nothing.
    if (is_started && options_.overlaps && passes_.size() < kMaxPlansUnderWay) continue;
    while (passes_.front().num_pending > 0) {
      const auto completed = co_await host_.completions().receive(&stop);
      if (!completed) break;
      end_operation(*completed.message);
    }
    if (passes_.front().num_pending > 0 || passes_.front().abandoned) break;
    demand = commit(passes_.front());
    idle_since_ns_ = passes_.front().done_ns;
    passes_.pop_front();
    delivery_.flush();
  }
}

void StepperActor::start_pass(Plan planned) {
  note_idle(planned);
  Pass& pass = passes_.emplace_back();
  pass.plan = std::move(planned);
  const Plan& plan = pass.plan;
  pass.started_ns = host_.now();
  start_moves(pass);
  // Operations take effect in their order: passes need not wait for moves, nor for each other.
  pass.first_forward = next_ticket_;
  pass.slices.resize(plan.rows.empty() ? 0 : plan.rows.back().slice + 1);
  pass.end = next_ticket_ + pass.slices.size();
  std::size_t first = 0;
  while (first < plan.rows.size()) {
    std::size_t end = first;
    while (end < plan.rows.size() && plan.rows[end].slice == plan.rows[first].slice) ++end;
    Batch batch = make_batch(plan, first, end);
    if (first == 0) {
      batch.closed = plan.closed;
      for (const PlanOpened& opened : plan.opened) open_slot(batch, opened, *slots_[opened.slot]);
    }
    ++pass.num_pending;
    backend_.forward(next_ticket_++, batch);
    first = end;
  }
  TICKERTAPE_ASSERT(next_ticket_ == pass.end);
}

/// The device had nothing to do until now.
void StepperActor::note_idle(const Plan& plan) {
  if (!passes_.empty() || idle_since_ns_ < 0) return;
  const auto cause = static_cast<std::size_t>(plan.idle_cause);
  port_.counters().device_idle_ns.at(cause).fetch_add(
      static_cast<std::uint64_t>(host_.now() - idle_since_ns_));
}

void StepperActor::start_moves(Pass& pass) {
  pass.first_move = next_ticket_;
  move(pass, &GroupPlan::swap_out, &Backend::swap_out);
  move(pass, &GroupPlan::swap_in, &Backend::swap_in);
  pass.num_swaps = pass.num_pending;
  move(pass, &GroupPlan::copies, &Backend::copy_pages);
}

void StepperActor::move(Pass& pass, std::vector<PageCopy> GroupPlan::* copies,
                        void (Backend::*operation)(Ticket, std::span<const PageMove>)) {
  std::vector<PageMove> moves;
  moves.reserve(pass.plan.count(copies));
  std::uint32_t group = 0;
  const auto add = [&](const GroupPlan& of) {
    for (const PageCopy& copy : of.*copies) moves.push_back(PageMove{group, copy.from, copy.to});
    ++group;
  };
  add(pass.plan);
  for (const GroupPlan& of : pass.plan.windows) add(of);
  if (moves.empty()) return;
  ++pass.num_pending;
  (backend_.*operation)(next_ticket_++, moves);
}

void StepperActor::end_operation(Ticket ticket) {
  const auto place = std::find_if(passes_.begin(), passes_.end(),
                                  [ticket](const Pass& one) { return ticket < one.end; });
  TICKERTAPE_ASSERT(place != passes_.end());
  Pass& pass = *place;
  TICKERTAPE_ASSERT(pass.num_pending > 0 && ticket >= pass.first_move);
  if (--pass.num_pending == 0) pass.done_ns = host_.now();
  BatchResult result = backend_.take(ticket);
  const bool is_swap = ticket < pass.first_move + pass.num_swaps;
  if (is_swap) pass.swapped_ns = host_.now();
  if (result.status == PassStatus::abandoned) pass.abandoned = true;
  if (result.status == PassStatus::failed) {
    if (result.fault.empty()) result.fault = "the backend failed";
    if (is_swap) {
      // It costs those that were moved, nobody else.
      pass.swap_fault = std::move(result.fault);
    } else {
      // What a pass read may not have been there: no row of the tick counts.
      pass.copy_failed |= ticket < pass.first_forward;
      pass.fault = std::move(result.fault);
    }
    return;
  }
  if (ticket >= pass.first_forward) pass.slices.at(ticket - pass.first_forward) = std::move(result);
}

void StepperActor::take_plan(PlanMessage& message) {
  const Plan& plan = message.plan;
  if (plan.batch_ended) delivery_.release_held();
  if (options_.holds_batches) {
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
  batch.page_tables.push_back(tables_of(plan.tables, first, end));
  for (const GroupPlan& group : plan.windows) {
    batch.page_tables.push_back(tables_of(group.tables, first, end));
  }
  batch.rows.reserve(end - first);
  for (std::size_t i = first; i < end; ++i) {
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
    if (planned.source == RowSource::last_token_of) {
      row.source = RowSource::last_token_of;
      row.source_slot = planned.slot;
    } else {
      add_ids(batch, row, planned, sequence);
    }
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
    slot.suppressed = options_.end_tokens;
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

Demand StepperActor::commit(const Pass& pass) {
  const Plan& plan = pass.plan;
  Demand demand;
  demand.done.reserve(plan.rows.size());
  demand.swap_failed = !pass.swap_fault.empty();
  demand.copy_failed = pass.copy_failed;
  // It may have been submitted while the one before ran.
  const std::int64_t began_ns = std::max(pass.started_ns, idle_since_ns_);
  if (pass.num_swaps > 0) demand.swap_ns = std::max<std::int64_t>(pass.swapped_ns - began_ns, 0);
  if (!plan.rows.empty() && pass.fault.empty()) demand.pass_ns = pass.done_ns - began_ns;
  std::size_t index = 0;  // Of the row in its slice.
  bool ended_in_tick = false;
  for (std::size_t i = 0; i < plan.rows.size(); ++i, ++index) {
    const PlanRow& planned = plan.rows[i];
    if (i > 0 && planned.slice != plan.rows[i - 1].slice) index = 0;
    if (planned.kind == RowKind::finished) go_on_for_nothing(pass, planned, index);
    if (planned.kind != RowKind::work || is_dropped(planned)) continue;
    const bool is_first = i == 0 || plan.rows[i - 1].id != planned.id;
    if (is_first) ++slots_[planned.slot]->ticks;
    const BatchResult& result = pass.slices[planned.slice];
    const bool is_lost = !pass.fault.empty() || lost_by_swap(pass, planned);
    const RowResult* const row = is_lost ? nullptr : &result.rows[index];
    RowDone done;
    done.id = planned.id;
    if (!is_first && ended_in_tick) {
      done.ended = true;  // By an earlier row.
    } else if (ends_by_fault(pass, planned, row)) {
      done.ended = true;
    } else {
      done = commit_row(planned, result, *row);
    }
    ended_in_tick = done.ended;
    const bool is_last = i + 1 == plan.rows.size() || plan.rows[i + 1].id != planned.id;
    if (done.ended && is_last && !options_.holds_batches) slots_[planned.slot].reset();
    demand.done.push_back(done);
  }
  return demand;
}

/// It was planned ahead for a sequence that has ended; the slot may be somebody else's by now.
bool StepperActor::is_dropped(const PlanRow& planned) const {
  const std::shared_ptr<Sequence>& owner = slots_[planned.slot];
  return !owner || owner->id != planned.id;
}

/// What a static batch lets an ended sequence say: the next row reads it, nobody else does.
void StepperActor::go_on_for_nothing(const Pass& pass, const PlanRow& planned, std::size_t index) {
  std::vector<TokenId>& tokens = slots_[planned.slot]->tokens;
  const BatchResult& result = pass.slices[planned.slice];
  const bool has_token = pass.fault.empty() && result.rows[index].num_tokens > 0;
  tokens.push_back(has_token ? result.tokens[result.rows[index].first_token] : tokens.back());
}

/// Its pages did not come back from the host.
bool StepperActor::lost_by_swap(const Pass& pass, const PlanRow& planned) {
  if (pass.swap_fault.empty()) return false;
  return std::any_of(
      pass.plan.opened.begin(), pass.plan.opened.end(), [&](const PlanOpened& opened) {
        return opened.id == planned.id && opened.resumed && opened.how == Notice::How::swap;
      });
}

/// Ends the row's sequence if its result is none. `row` is null when the whole tick failed.
bool StepperActor::ends_by_fault(const Pass& pass, const PlanRow& planned, const RowResult* row) {
  Sequence& sequence = *slots_[planned.slot];
  ErrorInfo error;
  if (row == nullptr) {
    const std::string& fault = pass.fault.empty() ? pass.swap_fault : pass.fault;
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
      (!sampling.ignore_eos &&
       std::binary_search(options_.end_tokens.begin(), options_.end_tokens.end(), last)) ||
      std::binary_search(sampling.stop_token_ids.begin(), sampling.stop_token_ids.end(), last);
  // Backends never sample one too early; a scripted one may say it all the same.
  const std::size_t num_generated = sequence.tokens.size() - sequence.prompt_length;
  if (ends && num_generated > sampling.min_tokens) return FinishReason::stop;
  return sequence.tokens.size() >= sequence.max_tokens ? FinishReason::length : FinishReason::none;
}

}  // namespace tickertape::actors
