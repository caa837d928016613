// Stream: the shared state between a request's reader and the lane.
#pragma once
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include <tickertape/detail/stream_core.hpp>
#include <tickertape/request.hpp>

#include "actors/lane_port.hpp"
#include "actors/outbox.hpp"
#include "actors/request_actor.hpp"

namespace tickertape::actors {

/// Everything a stream is born with.
struct StreamSetup {
  Accepted accepted;
  std::uint32_t window = 64;
  bool manual_credit = false;
  std::function<void(const Notice&)> on_notice;
  RequestSetup request;
};

/// Thread rules: StreamCore's members on any thread; deliver() on the stream's executor, one at a
/// time (the outbox sees to it); granted(), cancelled() and take_stopped() on the lane.
class Stream final : public detail::StreamCore,
                     public Recipient,
                     public std::enable_shared_from_this<Stream> {
 public:
  using ExecutorOf = std::function<boost::asio::any_io_executor()>;

  Stream(StreamSetup setup, std::shared_ptr<LanePort> port, std::shared_ptr<Outbox> outbox,
         ExecutorOf executor);
  ~Stream() override;

  std::uint64_t reserve_read() override;
  void start_read(std::uint64_t number, std::unique_ptr<detail::PendingRead> read,
                  std::size_t limit) override;
  void cancel_read(std::uint64_t number) override;
  void add_credit(std::uint32_t tokens) override;
  void cancel() override;
  void drop() noexcept override;
  [[nodiscard]] Finish finish() const override;
  [[nodiscard]] bool done() const override;
  [[nodiscard]] const Accepted& accepted() const override { return accepted_; }
  [[nodiscard]] boost::asio::any_io_executor executor() const override;

  /// Makes the end of its executor's context known to it. Once, before it is submitted.
  void attach() { outbox_key_ = outbox_->attach(weak_from_this()); }
  /// Ends the stream before it was ever submitted.
  void refuse(ErrorInfo error);
  /// Runs the request actor over one event, then completes the read that waits, if it can.
  void deliver(StreamEvent& event) override;
  void abandon() noexcept override;

  [[nodiscard]] std::uint64_t granted() const noexcept { return granted_.load(); }
  [[nodiscard]] bool cancelled() const noexcept { return cancelled_.load(); }
  /// Choices whose stop string was found since the last call.
  [[nodiscard]] std::vector<std::uint32_t> take_stopped();
  /// REQUIRES: called before the above are read, so that no change is missed.
  void clear_dirty() noexcept { dirty_.store(false); }
  [[nodiscard]] const std::shared_ptr<Outbox>& outbox() const noexcept { return outbox_; }

 private:
  using ReadPtr = std::unique_ptr<detail::PendingRead>;

  void mark_dirty();
  void poke();
  void pump();
  void pump_rejected();
  void grant(std::uint64_t tokens);

  const Accepted accepted_;
  const bool manual_credit_;
  const std::function<void(const Notice&)> on_notice_;
  const std::shared_ptr<LanePort> port_;  ///< Null for a stream that was refused.
  const std::shared_ptr<Outbox> outbox_;
  const ExecutorOf executor_of_;
  std::uint64_t outbox_key_ = 0;  ///< 0 = not attached.
  const std::uint32_t num_choices_;
  RequestActor actor_;

  std::atomic<std::uint64_t> granted_;
  std::atomic<bool> cancelled_{false};
  std::atomic<bool> dirty_{false};

  mutable std::mutex mutex_;
  std::deque<Token> ready_;
  std::uint64_t next_read_ = 0;
  std::uint64_t read_number_ = 0;
  std::size_t read_limit_ = 0;
  ReadPtr read_;
  std::vector<ReadPtr> cancelled_reads_;  ///< To be completed with operation_aborted.
  std::vector<ReadPtr> second_reads_;     ///< To be completed with Errc::read_pending.
  std::vector<std::uint32_t> stopped_;
  bool ended_ = false;
  bool dropped_ = false;
  Finish finish_;
};

}  // namespace tickertape::actors
