// Lane: the engine's actors together, on any scheduler.
#pragma once
#include <functional>
#include <memory>
#include <vector>

#include <tickertape/backend.hpp>
#include <tickertape/stats.hpp>

#include "actors/allocator.hpp"
#include "actors/lane_host.hpp"
#include "actors/lane_port.hpp"
#include "actors/stepper.hpp"
#include "runtime/scope.hpp"

namespace tickertape::actors {

struct LaneOptions {
  PlannerOptions planner;
  std::size_t max_queued_requests = 1024;
  std::vector<TokenId> end_tokens;
  std::uint64_t name_key = 0;       ///< Seeds the hash of pages' contents.
  std::string length_profile;       ///< The file that what was learned is written to; or empty.
  std::shared_ptr<PlannerLog> log;  ///< Null = none.
};

/// The allocator and the stepper with what they share. An engine runs it on a thread of its own, a
/// simulation in virtual time; neither is known here.
///
/// Thread rules: built before it runs; run() on the scheduler; request_stop() and stats() anywhere;
/// destroyed after run() has ended or its frame was destroyed.
class Lane {
 public:
  /// `host` is the one that `backend` was made with. All outlive the lane.
  Lane(LaneOptions options, LaneHost& host, Backend& backend, std::shared_ptr<LanePort> port);
  ~Lane();

  /// Runs until stopped, then ends every request that is left.
  [[nodiscard]] runtime::Task<> run();

  /// Ends the pass under way, if the backend can, and everything after it.
  void request_stop();

  [[nodiscard]] EngineStats stats() const;
  [[nodiscard]] AllocatorActor& allocator() noexcept { return allocator_; }

 private:
  struct StopWork : runtime::Work {
    Lane* lane = nullptr;
  };

  void end_all(FinishReason reason, const ErrorInfo& error);

  LaneHost& host_;
  std::shared_ptr<LanePort> port_;
  Plans plans_;
  std::string length_profile_;
  AllocatorActor allocator_;
  StepperActor stepper_;
  runtime::Scope scope_;
  StopWork stop_work_;
  std::atomic<bool> stopping_{false};
};

}  // namespace tickertape::actors
