// LongSubmit: a submit whose text is read on the text thread.
#pragma once
#include <cstdint>
#include <memory>
#include <mutex>

#include <tickertape/detail/call_op.hpp>
#include <tickertape/request.hpp>

#include "actors/intake.hpp"
#include "actors/outbox.hpp"
#include "actors/recipient.hpp"
#include "runtime/worker_thread.hpp"

namespace tickertape::actors {

/// From async_submit's initiation to its completion. Cancelling it drops the request.
///
/// Thread rules: any thread. Intake and worker outlive every job of the worker.
class LongSubmit final : public detail::AsyncCall,
                         public Recipient,
                         public std::enable_shared_from_this<LongSubmit> {
 public:
  LongSubmit(Request&& request, Intake& intake, std::shared_ptr<LanePort> port,
             runtime::WorkerThread& worker, std::shared_ptr<Outbox> outbox);
  ~LongSubmit() override;

  [[nodiscard]] boost::asio::any_io_executor call_executor() const override;
  void start_call(std::unique_ptr<detail::PendingCall> pending) override;
  void cancel_call() override;

  void deliver(StreamEvent& event, RequestOutput& output) override;
  void abandon() noexcept override;

 private:
  void read_text();

  Request request_;
  Intake& intake_;
  const std::shared_ptr<LanePort> port_;
  runtime::WorkerThread& worker_;
  const std::shared_ptr<Outbox> outbox_;
  const std::int64_t submitted_ns_;
  std::uint64_t outbox_key_ = 0;

  std::mutex mutex_;
  std::unique_ptr<detail::PendingCall> pending_;
  TokenStream stream_;  ///< Once the text was read.
  bool read_ = false;
  bool cancelled_ = false;
};

}  // namespace tickertape::actors
