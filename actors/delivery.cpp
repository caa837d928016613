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
  const std::shared_ptr<Outbox>& outbox = sequence.stream->outbox();
  if (!outbox->has_staged()) touched_.push_back(outbox);
  outbox->stage(sequence.stream, std::move(event));
}

void Delivery::send_last(Sequence& sequence, StreamEvent event, FinishReason reason) {
  const bool is_first = note_end(sequence, reason);
  TICKERTAPE_ASSERT(is_first);
  event.reason = reason;
  send(sequence, std::move(event));
}

void Delivery::notify(const Sequence& sequence, StreamEvent::Kind kind, Notice::How how) {
  StreamEvent event(kind, host_.now());
  event.how = how;
  send(sequence, std::move(event));
}

void Delivery::end(Sequence& sequence, FinishReason reason, ErrorInfo error) {
  if (!note_end(sequence, reason)) return;
  send(sequence, StreamEvent::of_end(reason, std::move(error), host_.now()));
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
