// Intake: the door; checks a request and puts it into the waiting line.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include <tickertape/errors.hpp>
#include <tickertape/request.hpp>

#include "actors/lane_port.hpp"
#include "actors/preparer.hpp"
#include "actors/stream.hpp"

namespace tickertape::actors {

struct IntakeOptions {
  RequestLimits limits;
  std::uint32_t max_queued_requests = 1024;  ///< Each choice of a request counts.
  std::uint64_t max_queued_tokens = 1ULL << 20;
  std::int64_t request_timeout_ns = 0;  ///< 0 = none.
};

/// Where a request comes from.
struct Arrival {
  std::int64_t at_ns = 0;   ///< Deadlines count from here.
  bool is_pending = false;  ///< It counts among Counters::pending_texts until it is in the queue.
};

/// Decides on the submitter's thread, without waiting for the lane: field checks, tokenization and
/// two atomics.
///
/// Thread rules: any thread.
class Intake {
 public:
  using Clock = std::function<std::int64_t()>;
  using SeedSource = std::function<std::uint64_t()>;

  Intake(std::shared_ptr<const Model> model, IntakeOptions options, std::shared_ptr<LanePort> port,
         Clock clock, SeedSource seeds);

  [[nodiscard]] const Preparer& preparer() const noexcept { return preparer_; }

  /// A reason of the moment to refuse: the queue, or a drain.
  [[nodiscard]] std::optional<ErrorInfo> check_queue(std::size_t num_choices,
                                                     std::size_t num_tokens) const;

  /// What submit() would refuse `request` for now.
  [[nodiscard]] std::optional<ErrorInfo> check(const Request& request) const;

  /// The stream of `request`; one that is finished already when it is refused. `outbox` may be null
  /// only for a request that is refused with `refusal`.
  [[nodiscard]] std::shared_ptr<Stream> submit(Request&& request, std::shared_ptr<Outbox> outbox,
                                               Stream::ExecutorOf executor,
                                               std::optional<ErrorInfo> refusal, Arrival arrival);

  [[nodiscard]] std::int64_t now() const { return clock_(); }

  void drain() noexcept { draining_.store(true); }
  [[nodiscard]] bool draining() const noexcept { return draining_.load(); }

 private:
  [[nodiscard]] std::optional<ErrorInfo> enter_queue(std::size_t num_choices,
                                                     std::size_t num_tokens);
  void leave_queue(std::size_t num_choices, std::size_t num_tokens);
  [[nodiscard]] std::shared_ptr<Stream> start(Request&& request, Prepared&& prepared,
                                              std::shared_ptr<Outbox> outbox,
                                              Stream::ExecutorOf executor,
                                              std::int64_t submitted_ns);
  [[nodiscard]] Accepted accept(const Request& request, const Prepared& prepared);
  [[nodiscard]] NewRequest plan_of(const Request& request, const Accepted& accepted,
                                   std::int64_t submitted_ns) const;
  [[nodiscard]] double retry_after() const;

  Preparer preparer_;
  IntakeOptions options_;
  std::shared_ptr<LanePort> port_;
  Clock clock_;
  SeedSource seeds_;
  std::atomic<std::uint64_t> next_id_{1};
  std::atomic<bool> draining_{false};
};

}  // namespace tickertape::actors
