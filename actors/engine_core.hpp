// EngineCore: what an Engine owns, in the order of its life.
#pragma once
#include <memory>
#include <optional>

#include <tickertape/engine.hpp>

#include "actors/intake.hpp"
#include "actors/lane.hpp"
#include "actors/outbox_registry.hpp"
#include "runtime/compute_pool.hpp"
#include "runtime/lane_thread.hpp"
#include "runtime/worker_thread.hpp"

namespace tickertape::detail {

/// Thread rules: as Engine's.
class EngineCore {
 public:
  EngineCore(std::shared_ptr<const Model> model, EngineOptions options);
  ~EngineCore();

  [[nodiscard]] TokenStream submit(const boost::asio::any_io_executor& executor, Request&& request);
  /// The call for a request whose text takes long to read; null for one that submit() takes.
  [[nodiscard]] std::shared_ptr<AsyncCall> prepare_long_submit(
      const boost::asio::any_io_executor& executor, Request& request);
  [[nodiscard]] std::optional<ErrorInfo> check(const Request& request) const;
  [[nodiscard]] EngineStats stats() const;
  void drain() noexcept { intake_->drain(); }
  void stop();

  [[nodiscard]] const Model& model() const noexcept { return *model_; }
  [[nodiscard]] const EngineOptions& options() const noexcept { return options_; }
  [[nodiscard]] const BackendInfo& backend_info() const noexcept { return backend_->info(); }

 private:
  std::shared_ptr<const Model> model_;
  EngineOptions options_;
  std::shared_ptr<runtime::ComputePool> pool_;
  runtime::LaneThread thread_;
  std::shared_ptr<actors::LanePort> port_;
  actors::OutboxRegistry outboxes_;
  std::optional<actors::LaneHost> host_;
  std::unique_ptr<Backend> backend_;
  std::optional<actors::Lane> lane_;
  std::optional<actors::Intake> intake_;
  runtime::WorkerThread text_thread_;  ///< Last: its jobs use all the rest.
};

}  // namespace tickertape::detail
