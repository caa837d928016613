// TickedEngine: an engine's own actors in virtual time, told tick by tick what to do.
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include <tickertape/model.hpp>
#include <tickertape/options.hpp>
#include <tickertape/parallel.hpp>
#include <tickertape/request.hpp>
#include <tickertape/stats.hpp>

#include "actors/intake.hpp"
#include "actors/lane.hpp"
#include "runtime/scope.hpp"
#include "runtime/sim_poster.hpp"
#include "runtime/virtual_scheduler.hpp"
#include "tests/support/recorded.hpp"

namespace tickertape::test {

/// What a choice went through. Ticks count from 1.
struct TickedChoice {
  std::vector<std::uint64_t> rows_at;     ///< Ticks that had a row of it.
  std::vector<std::uint64_t> sampled_at;  ///< Those of them that sampled.
  std::vector<std::uint64_t> started_at;  ///< Admitted, or back after a preemption.
  std::vector<std::uint64_t> preempted_at;
};

/// What a request got, and when.
struct TickedAnswer : Recorded {
  std::uint64_t submitted_at = 0;  ///< Ticks planned by then: it may have a row in the next one.
  std::uint64_t id = 0;            ///< Of its choice 0, as the planner knows it.
  std::vector<TickedChoice> by_choice;
};

/// Planner, pool, stepper, streams and backend are an Engine's own; the clock is virtual and
/// readers read at once. So a test says in which tick a request comes, and counts ticks: it is the
/// same each time. Planner::check() is called with every plan. A backend that computes (the CPU,
/// the paged fake without pass_ns) takes no virtual time.
///
/// Thread rules: one thread.
class TickedEngine {
 public:
  TickedEngine(std::shared_ptr<const Model> model, const EngineOptions& options);
  ~TickedEngine();
  TickedEngine(const TickedEngine&) = delete;
  TickedEngine& operator=(const TickedEngine&) = delete;

  /// To be submitted when `tick` ticks were planned, or when nothing else is left to do. Returns
  /// its number: 0, 1, 2, ...
  std::size_t submit_at(std::uint64_t tick, Request request);
  std::size_t submit(Request request) { return submit_at(0, std::move(request)); }
  void cancel(std::size_t which) { readers_.at(which).stream->cancel(); }

  /// Until everybody has ended.
  void run();

  [[nodiscard]] const TickedAnswer& answer(std::size_t which) const {
    return readers_.at(which).answer;
  }
  [[nodiscard]] std::uint64_t tick() const noexcept { return tick_; }
  [[nodiscard]] const actors::Planner& planner() { return lane_->allocator().planner(); }
  [[nodiscard]] EngineStats stats() const { return lane_->stats(); }

  /// After each plan; may submit.
  std::function<void(const actors::Plan&)> on_plan;
  /// After a request has ended; may submit.
  std::function<void(std::size_t which)> on_end;

 private:
  struct Reader final : actors::TokenSink {
    void on_token(Token&& token) noexcept override {
      answer.choices[token.index].push_back(std::move(token));
    }
    void on_end() noexcept override { has_ended = true; }
    std::shared_ptr<actors::Stream> stream;  ///< Null until it is submitted.
    std::optional<Request> request;
    bool has_ended = false;
    TickedAnswer answer;
  };

  void submit_now(std::size_t which);
  [[nodiscard]] bool submit_due(std::uint64_t tick);
  [[nodiscard]] bool submit_next();
  void plan_made(const actors::Plan& plan);
  void tell_ends();
  [[nodiscard]] TickedChoice& choice_of(SequenceId id);

  std::shared_ptr<const Model> model_;
  runtime::VirtualScheduler scheduler_;
  SingleThread parallel_;
  std::shared_ptr<actors::LanePort> port_ = std::make_shared<actors::LanePort>();
  std::shared_ptr<runtime::SimPoster> poster_;
  std::shared_ptr<actors::Outbox> outbox_;
  std::optional<actors::LaneHost> host_;
  std::unique_ptr<Backend> backend_;
  std::optional<actors::Lane> lane_;
  std::optional<actors::Intake> intake_;
  std::optional<runtime::Scope> scope_;
  std::deque<Reader> readers_;
  std::multimap<std::uint64_t, std::size_t> due_;  ///< Not submitted yet, by tick.
  std::vector<std::size_t> open_;                  ///< Submitted, and not told to have ended.
  std::map<SequenceId, std::size_t> owners_;       ///< By the id of choice 0.
  std::uint64_t tick_ = 0;
};

/// Over the paged fake; a pass takes no time unless `pass_ns` says so.
struct TickedFake : OverFake<TickedEngine> {
  explicit TickedFake(EngineOptions options = tiny_options(), std::int64_t pass_ns = 0)
      : OverFake(std::move(options), pass_ns) {}
  /// Whether every choice has the tokens that it gets alone.
  [[nodiscard]] bool same_as_alone(std::size_t which, const Request& request) const {
    for (std::uint32_t choice = 0; choice < request.n; ++choice) {
      if (engine->answer(which).ids(choice) != expected(request, choice)) return false;
    }
    return true;
  }
};

}  // namespace tickertape::test
