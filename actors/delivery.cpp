// Delivery: the lane's way to the streams; one batch per executor and tick.
#include "actors/delivery.hpp"

#include <utility>

#include <tickertape/assert.hpp>

#include "actors/outbox.hpp"
#include "actors/stream.hpp"
#include "actors/tags.hpp"

namespace tickertape::actors {

void Delivery::send(const Sequence& sequence, StreamEvent event) {
  event.choice = sequence.choice;
  event.ticks = sequence.ticks;
  if (holds_ && event.kind != StreamEvent::Kind::started) {
    held_.push_back(Held{sequence.stream, std::move(event)});
  } else {
    stage(sequence.stream, std::move(event));
  }
}

void Delivery::stage(const std::shared_ptr<Stream>& stream, StreamEvent event) {
  const std::shared_ptr<Outbox>& outbox = stream->outbox();
  if (!outbox->has_staged()) touched_.push_back(outbox);
  outbox->stage(stream, std::move(event));
}

void Delivery::release_held() {
  for (Held& held : held_) {
    held.event.at_ns = host_.now();
    stage(held.stream, std::move(held.event));
  }
  held_.clear();
}

void Delivery::send_last(Sequence& sequence, StreamEvent event, FinishReason reason) {
  const bool is_first = note_end(sequence, reason);
  TICKERTAPE_ASSERT(is_first);
  event.reason = reason;
  send(sequence, std::move(event));
}

void Delivery::notify(const Sequence& sequence, const PlanOpened& opened) {
  StreamEvent event(opened.resumed ? StreamEvent::Kind::resumed : StreamEvent::Kind::started,
                    host_.now());
  event.how = opened.how;
  if (opened.cached_tokens > 0 || opened.swapped_pages > 0) {
    event.details = std::make_unique<EventDetails>();
    event.details->cached_tokens = opened.resumed ? 0 : opened.cached_tokens;
    event.details->swapped_pages = opened.swapped_pages;
  }
  send(sequence, std::move(event));
}

void Delivery::notify(const Sequence& sequence, const PlanPreempted& preempted) {
  StreamEvent event(StreamEvent::Kind::preempted, host_.now());
  event.how = preempted.how;
  if (preempted.swapped_pages > 0) {
    event.details = std::make_unique<EventDetails>();
    event.details->swapped_pages = preempted.swapped_pages;
  }
  send(sequence, std::move(event));
}

void Delivery::end(Sequence& sequence, FinishReason reason, ErrorInfo error) {
  if (!note_end(sequence, reason)) return;
  send(sequence, StreamEvent::of_end(reason, std::move(error), host_.now()));
  if (held_.empty()) return;
  // Its batch may go on for long; only a result waits for that.
  std::vector<Held> others;
  for (Held& held : held_) {
    if (held.stream == sequence.stream) {
      stage(held.stream, std::move(held.event));
    } else {
      others.push_back(std::move(held));
    }
  }
  held_ = std::move(others);
}

bool Delivery::note_end(Sequence& sequence, FinishReason reason) {
  if (std::exchange(sequence.ended, true)) return false;
  host_.scheduler().trace(kTraceEnd, sequence.id, static_cast<std::uint64_t>(reason));
  if (!std::exchange(sequence.counted, true)) port_.counters().count_end(reason, host_.now());
  return true;
}

void Delivery::flush() {
  for (const std::shared_ptr<Outbox>& outbox : touched_) outbox->flush();
  touched_.clear();
}

}  // namespace tickertape::actors
