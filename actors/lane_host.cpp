// LaneHost: the engine's lane as a backend sees it.
#include "actors/lane_host.hpp"

#include <tickertape/assert.hpp>

#include "actors/tags.hpp"

namespace tickertape::actors {
namespace {
constexpr std::size_t kMaxCompletions = 64;  // Operations that a lane has under way, with room.
}

LaneHost::LaneHost(runtime::Scheduler& scheduler)
    : scheduler_(scheduler), completions_(scheduler, kMaxCompletions, kTagCompletion) {}

LaneHost::~LaneHost() {
  for (Delayed& delayed : delayed_) scheduler_.disarm(&delayed);
}

void LaneHost::post(Ticket ticket) {
  const auto result = completions_.push(ticket);
  TICKERTAPE_ASSERT(result == runtime::PushResult::ok);
}

void LaneHost::post_at(Ticket ticket, std::int64_t when_ns) {
  delayed_.emplace_back();
  Delayed& delayed = delayed_.back();
  delayed.host = this;
  delayed.ticket = ticket;
  delayed.place = std::prev(delayed_.end());
  delayed.fire = [](runtime::Timer* timer) {
    auto* self = static_cast<Delayed*>(timer);
    LaneHost* host = self->host;
    const Ticket done = self->ticket;
    host->delayed_.erase(self->place);
    host->post(done);
  };
  scheduler_.arm(&delayed, when_ns);
}

bool LaneHost::alive(std::int64_t limit_ns) const noexcept {
  if (!busy_.load(std::memory_order_relaxed)) return true;
  return now() - last_beat_ns_.load(std::memory_order_relaxed) < limit_ns;
}

}  // namespace tickertape::actors
