// Delivery: the lane's way to the streams; one batch per executor and tick.
#pragma once
#include <memory>
#include <vector>

#include <tickertape/finish.hpp>

#include "actors/lane_host.hpp"
#include "actors/lane_port.hpp"
#include "actors/plan.hpp"
#include "actors/stream_event.hpp"

namespace tickertape::actors {

class Outbox;

/// Thread rules: the lane.
class Delivery {
 public:
  /// `holds`: what sequences generate waits for release_held().
  Delivery(LaneHost& host, LanePort& port, bool holds = false)
      : host_(host), port_(port), holds_(holds) {}
  /// A staged event keeps its stream, and that its outbox: never flushed, they stay for ever.
  ~Delivery() { flush(); }
  Delivery(const Delivery&) = delete;
  Delivery& operator=(const Delivery&) = delete;

  void send(const Sequence& sequence, StreamEvent event);
  /// Sends the last token of a sequence. Its end must not have been told before.
  void send_last(Sequence& sequence, StreamEvent event, FinishReason reason);
  void notify(const Sequence& sequence, const PlanOpened& opened);
  void notify(const Sequence& sequence, const PlanPreempted& preempted);
  /// The last event of a sequence, and its place in the counters. Only the first call counts.
  void end(Sequence& sequence, FinishReason reason, ErrorInfo error);
  /// Sends what was held back, as of now.
  void release_held();
  /// Hands the tick's events to their executors.
  void flush();

 private:
  struct Held {
    std::shared_ptr<Stream> stream;
    StreamEvent event;
  };

  [[nodiscard]] bool note_end(Sequence& sequence, FinishReason reason);
  void stage(const std::shared_ptr<Stream>& stream, StreamEvent event);

  LaneHost& host_;
  LanePort& port_;
  const bool holds_;
  std::vector<Held> held_;
  std::vector<std::shared_ptr<Outbox>> touched_;
};

}  // namespace tickertape::actors
