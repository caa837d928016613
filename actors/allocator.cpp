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
                               std::size_t max_queued, std::uint64_t name_key)
    : host_(host),
      port_(port),
      plans_(plans),
      planner_(std::move(options)),
      names_(planner_.pool().options().page_size, name_key),
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
  take_demand(std::get<Demand>(message));
}

void AllocatorActor::take_demand(Demand& demand) {
  TICKERTAPE_ASSERT(!demanded_);
  demanded_ = true;
  if (!demand.has_landed) return;
  name_generated(demand);
  if (log) log->committed(demand);
  planner_.commit(demand);
  count_names();
  for (const RowDone& done : demand.done) {
    if (done.ended) forget(done.id);
  }
}

/// Gives names to the pages that the last pass's tokens have filled.
void AllocatorActor::name_generated(Demand& demand) {
  if (!planner_.options().prefix_caching) return;
  for (const RowDone& done : demand.done) {
    if (done.ended || done.num_emitted == 0) continue;
    Sequence& sequence = *sequences_.at(done.id);
    const std::size_t before = sequence.page_names.size();
    name_pages(sequence);
    for (std::size_t i = before; i < sequence.page_names.size(); ++i) {
      demand.named.push_back(NamedPage{sequence.id, sequence.page_names[i]});
    }
  }
}

/// Names the full pages of its tokens that have none yet.
void AllocatorActor::name_pages(Sequence& sequence) {
  const std::size_t page_size = planner_.pool().options().page_size;
  const std::size_t num_full = sequence.tokens.size() / page_size;
  if (sequence.page_names.size() >= num_full) return;
  const bool is_first = sequence.page_names.empty();
  PageName parent = is_first ? names_.root(sequence.cache_salt) : sequence.page_names.back();
  const PageName root = is_first ? parent : 0;
  while (sequence.page_names.size() < num_full) {
    const std::size_t begin = sequence.page_names.size() * page_size;
    parent = names_.child(parent, std::span(sequence.tokens).subspan(begin, page_size));
    sequence.page_names.push_back(parent);
  }
  if (root != 0) names_.drop_reference(root);  // The first page holds it.
}

/// Names live as long as a sequence or a page has them.
void AllocatorActor::count_names() {
  const KvPool::NameChanges changes = planner_.take_name_changes();
  for (const PageName name : changes.added) names_.add_reference(name);
  for (const PageName name : changes.dropped) names_.drop_reference(name);
}

void AllocatorActor::forget(SequenceId id) {
  const auto found = sequences_.find(id);
  if (found == sequences_.end()) return;  // It had several rows in the tick.
  for (const PageName name : found->second->page_names) names_.drop_reference(name);
  found->second->page_names.clear();
  sequences_.erase(found);
}

void AllocatorActor::submit(Submission& submission) {
  NewRequest& wanted = submission.planned;
  host_.scheduler().trace(kTraceSubmit, wanted.id, wanted.prompt_tokens);
  if (planner_.options().prefix_caching) {
    for (const std::shared_ptr<Sequence>& choice : submission.choices) name_pages(*choice);
    wanted.names = submission.choices.front()->page_names;
  }
  const std::int64_t now_ns = host_.now();
  if (log) log->added(wanted, now_ns);
  planner_.add(wanted, now_ns);
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
    if (log) log->applied(event);
    planner_.apply(event);
  }
  dirty_.clear();
}

void AllocatorActor::try_plan() {
  const std::int64_t now_ns = host_.now();
  Plan plan = planner_.make_plan(now_ns);
  if (log) log->planned(now_ns, plan);
  wake_at_ns_ = plan.wake_at_ns;
  count_names();
  if (on_plan) on_plan(planner_, plan);
  const bool is_under_way = planner_.num_under_way() > 0;
  host_.set_busy(!plan.empty() || is_under_way);
  for (const PlanEnded& ended : plan.ended) {
    sequences_.at(ended.id)->counted = true;
    port_.counters().count_end(ended.reason, host_.now());
  }
  publish();
  // Otherwise the demand stays, and the next message or wake-up plans again.
  if (plan.empty() && !is_under_way) return;
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
    std::shared_ptr<Sequence> sequence = sequences_.at(ended.id);
    leave_queue(*sequence);
    forget(ended.id);
    message.ended.push_back(std::move(sequence));
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

/// Nothing runs, waits or is held any more.
void AllocatorActor::publish_end() {
  const std::lock_guard lock(stats_mutex_);
  stats_.num_running = 0;
  stats_.num_waiting = 0;
  stats_.num_parked = 0;
  stats_.pages_free = stats_.pages_total;
  stats_.pages_cached = 0;
  stats_.pages_held = 0;
  stats_.host_pages_free = stats_.host_pages_total;
  stats_.held_places = 0;
  stats_.held_tokens = 0;
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
  publish_end();
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a->id < b->id; });
  return all;
}

}  // namespace tickertape::actors
