// Lane: the engine's actors together, on any scheduler.
#include "actors/lane.hpp"

#include <exception>

#include <tickertape/errors.hpp>

#include "actors/length_profile_file.hpp"
#include "actors/tags.hpp"

namespace tickertape::actors {

Lane::Lane(LaneOptions options, LaneHost& host, Backend& backend, std::shared_ptr<LanePort> port)
    : host_(host),
      port_(std::move(port)),
      plans_(host.scheduler(), 1, kTagPlan),
      length_profile_(std::move(options.length_profile)),
      allocator_(options.planner, host, *port_, plans_, options.max_queued_requests,
                 options.name_key),
      stepper_(backend, host, *port_, plans_, allocator_.inbox(),
               StepperOptions{std::move(options.end_tokens), options.planner.is_static(),
                              allocator_.planner().options().overlap}),
      scope_(host.scheduler(), kTagLane) {
  stop_work_.lane = this;
  stop_work_.tag = kTagStop;
  stop_work_.run = [](runtime::Work* work) {
    static_cast<StopWork*>(work)->lane->scope_.stop().request_stop();
  };
  allocator_.log = std::move(options.log);
  port_->open(allocator_.inbox());
}

Lane::~Lane() {
  port_->close();
  host_.scheduler().cancel(&stop_work_);
  if (length_profile_.empty()) return;
  try {
    write_length_profile(length_profile_, allocator_.planner().profile().shared());
  } catch (const std::exception&) {
    // It could be written when the engine began. What was there before still is.
  }
}

runtime::Task<> Lane::run() {
  scope_.spawn(allocator_.run(scope_.stop()));
  scope_.spawn(stepper_.run(scope_.stop()));
  ErrorInfo error;
  try {
    co_await scope_.join();
  } catch (const std::exception& failure) {
    error = ErrorInfo{Errc::internal, failure.what(), {}, 0};
  }
  port_->close();
  host_.set_busy(false);
  end_all(error ? FinishReason::error : FinishReason::shutdown, error);
  if (allocator_.log) allocator_.log->finish();
}

void Lane::request_stop() {
  host_.request_stop();
  if (!stopping_.exchange(true)) host_.scheduler().post(&stop_work_);
}

void Lane::end_all(FinishReason reason, const ErrorInfo& error) {
  Delivery& delivery = stepper_.delivery();
  delivery.release_held();
  // A plan that the stepper did not live to take holds sequences that only it knows.
  while (auto message = plans_.try_receive()) {
    for (const std::shared_ptr<Sequence>& sequence : message->ended) {
      delivery.end(*sequence, reason, error);
    }
  }
  for (const std::shared_ptr<Sequence>& sequence : allocator_.take_all()) {
    delivery.end(*sequence, reason, error);
  }
  delivery.flush();
}

EngineStats Lane::stats() const {
  EngineStats stats = allocator_.stats();
  const Counters& counters = port_->counters();
  stats.submitted = counters.submitted.load();
  stats.refused = counters.refused.load();
  stats.prompt_tokens = counters.prompt_tokens.load();
  stats.generation_tokens = counters.generation_tokens.load();
  stats.wasted_tokens = counters.wasted_tokens.load();
  stats.queued_tokens = counters.queued_tokens.load();
  for (std::size_t i = 0; i < kNumFinishReasons; ++i) {
    stats.finished[i] = counters.finished[i].load();
  }
  for (std::size_t i = 0; i < kNumIdleCauses; ++i) {
    stats.device_idle_ns[i] = counters.device_idle_ns[i].load();
  }
  if (allocator_.log) {
    stats.recording_failed = allocator_.log->failed();
    stats.recorded_bytes = allocator_.log->num_bytes();
  }
  // Requests on their way to the allocator wait too.
  stats.num_waiting = std::max(stats.num_waiting, counters.queued_requests.load());
  stats.num_waiting += counters.pending_texts.load();
  return stats;
}

}  // namespace tickertape::actors
