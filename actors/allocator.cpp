// AllocatorActor: submissions and demands in, plans out.
#include "actors/allocator.hpp"

#include <algorithm>

#include <tickertape/assert.hpp>

#include "actors/stream.hpp"
#include "actors/tags.hpp"

namespace tickertape::actors {
namespace {

/// The door's counters bound the submissions; beside them there is at most one demand.
std::size_t inbox_capacity(std::size_t max_queued) {
  return max_queued + 1;
}

}  // namespace

AllocatorActor::AllocatorActor(PlannerOptions options, LaneHost& host, LanePort& port, Plans& plans,
                               std::size_t max_queued)
    : host_(host),
      port_(port),
      plans_(plans),
      planner_(std::move(options)),
      inbox_(host.scheduler(), inbox_capacity(max_queued), kTagAllocator) {
  publish();
}

runtime::Task<> AllocatorActor::run(runtime::StopSource& stop) {
  while (!stop.stopped()) {
    messages_.clear();
    // While a pass runs no plan can be made, whatever the time.
    const std::int64_t deadline_ns = demanded_ ? wake_at_ns_ : kNoDeadline;
    const runtime::ReceiveStatus status =
        co_await inbox_.receive_batch(messages_, &stop, deadline_ns);
    if (status == runtime::ReceiveStatus::stopped) break;
    for (AllocatorMessage& message : messages_) handle(message);
    drain_dirty();
    if (demanded_) try_plan();
  }
}

void AllocatorActor::handle(AllocatorMessage& message) {
  if (auto* submission = std::get_if<Submission>(&message)) {
    submit(*submission);
    return;
  }
  const Demand& demand = std::get<Demand>(message);
  TICKERTAPE_ASSERT(!demanded_);
  demanded_ = true;
  planner_.commit(demand);
  for (const RowDone& done : demand.done) {
    if (done.ended) sequences_.erase(done.id);
  }
}

void AllocatorActor::submit(Submission& submission) {
  const NewRequest& wanted = submission.planned;
  host_.scheduler().trace(kTraceSubmit, wanted.id, wanted.prompt_tokens);
  planner_.add(wanted, host_.now());
  for (std::shared_ptr<Sequence>& choice : submission.choices) {
    const SequenceId id = choice->id;
    sequences_.emplace(id, std::move(choice));
  }
}

void AllocatorActor::drain_dirty() {
  port_.take_dirty(dirty_);
  for (const std::shared_ptr<Stream>& stream : dirty_) {
    stream->clear_dirty();
    ReaderEvent event;
    event.id = stream->accepted().request_id;
    event.granted = stream->granted();
    event.cancelled = stream->cancelled();
    event.stopped = stream->take_stopped();
    planner_.apply(event);
  }
  dirty_.clear();
}

void AllocatorActor::try_plan() {
  Plan plan = planner_.make_plan(host_.now());
  wake_at_ns_ = plan.wake_at_ns;
  if (on_plan) on_plan(planner_, plan);
  host_.set_busy(!plan.empty());
  for (const PlanEnded& ended : plan.ended) {
    sequences_.at(ended.id)->counted = true;
    port_.counters().count_end(ended.reason, host_.now());
  }
  publish();
  if (plan.empty()) return;  // The demand stays; the next message or wake-up plans again.
  demanded_ = false;
  announce(std::move(plan));
}

void AllocatorActor::announce(Plan plan) {
  PlanMessage message;
  host_.scheduler().trace(kTraceTick, plan.tick, plan.rows.size());
  for (const PlanOpened& opened : plan.opened) {
    const std::shared_ptr<Sequence>& sequence = sequences_.at(opened.id);
    leave_queue(*sequence);
    message.opened.push_back(sequence);
  }
  for (const PlanPreempted& preempted : plan.preempted) {
    host_.scheduler().trace(kTracePreempt, preempted.id, plan.tick);
  }
  for (const PlanEnded& ended : plan.ended) {
    const auto found = sequences_.find(ended.id);
    leave_queue(*found->second);
    message.ended.push_back(std::move(found->second));
    sequences_.erase(found);
  }
  message.plan = std::move(plan);
  const auto result = plans_.push(std::move(message));
  TICKERTAPE_ASSERT(result == runtime::PushResult::ok);
}

void AllocatorActor::leave_queue(Sequence& sequence) {
  if (!sequence.queued) return;
  sequence.queued = false;
  port_.counters().queued_requests.fetch_sub(1);
  port_.counters().queued_tokens.fetch_sub(sequence.queued_tokens);
}

void AllocatorActor::publish() {
  const std::lock_guard lock(stats_mutex_);
  planner_.fill(stats_);
}

EngineStats AllocatorActor::stats() const {
  const std::lock_guard lock(stats_mutex_);
  return stats_;
}

std::vector<std::shared_ptr<Sequence>> AllocatorActor::take_all() {
  while (auto message = inbox_.try_receive()) {
    if (auto* submission = std::get_if<Submission>(&*message)) submit(*submission);
  }
  std::vector<std::shared_ptr<Sequence>> all;
  for (auto& [id, sequence] : sequences_) {
    leave_queue(*sequence);
    all.push_back(std::move(sequence));
  }
  sequences_.clear();
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a->id < b->id; });
  return all;
}

}  // namespace tickertape::actors
