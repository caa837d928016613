// Stream: the shared state between a request's reader and the lane.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include <tickertape/detail/stream_core.hpp>
#include <tickertape/request.hpp>

#include "actors/lane_port.hpp"
#include "actors/outbox.hpp"
#include "actors/request_actor.hpp"
#include "actors/token_sink.hpp"

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
class Stream final : public Recipient,
                     public detail::StreamCore,
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
  /// From now on tokens go to `sink`, those that are ready first; there are no reads beside it. Any
  /// thread. The sink outlives the stream's last event, or the stream is dropped before.
  void set_sink(TokenSink& sink);
  /// Ends the stream before it was ever submitted.
  void refuse(ErrorInfo error);
  /// Runs the request actor over one event, then completes the read that waits, if it can.
  void deliver(StreamEvent& event, RequestOutput& output) override;
  void prefetch() const noexcept override;
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
  void pump_sink();
  /// What a token alone does not need.
  void settle(RequestOutput& output);
  /// Something besides a token that was just taken is due. REQUIRES: mutex_ is held.
  [[nodiscard]] bool has_due() const noexcept;
  /// Up to `limit` tokens. REQUIRES: mutex_ is held.
  [[nodiscard]] std::vector<Token> take_ready(std::size_t limit);
  void give_back(std::uint64_t tokens);
  void grant(std::uint64_t tokens);

  // What every token touches lies together, at the front: see Outbox::drain().
  std::atomic<TokenSink*> sink_{nullptr};  ///< Written under mutex_.
  bool sink_is_level_ = false;             ///< The sink was given all that was ready; deliver()'s.
  const bool manual_credit_;
  std::atomic<bool> cancelled_{false};
  std::atomic<bool> dirty_{false};
  bool ended_ = false;
  bool dropped_ = false;
  bool has_rejected_ = false;  ///< cancelled_reads_ or second_reads_ is not empty.
  const std::uint32_t credit_step_;
  std::uint32_t owed_ = 0;  ///< Credit that is not given back yet; deliver()'s.
  std::atomic<std::uint64_t> granted_;
  RequestActor actor_;
  mutable std::mutex mutex_;
  std::vector<Token> ready_;  ///< From first_ready_ on.
  std::size_t first_ready_ = 0;
  ReadPtr read_;
  const std::shared_ptr<LanePort> port_;  ///< Null for a stream that was refused.

  const Accepted accepted_;
  const std::function<void(const Notice&)> on_notice_;
  const std::shared_ptr<Outbox> outbox_;
  const ExecutorOf executor_of_;
  const std::uint32_t num_choices_;
  std::uint64_t outbox_key_ = 0;  ///< 0 = not attached.

  std::uint64_t next_read_ = 0;
  std::uint64_t read_number_ = 0;
  std::size_t read_limit_ = 0;
  std::vector<ReadPtr> cancelled_reads_;  ///< To be completed with operation_aborted.
  std::vector<ReadPtr> second_reads_;     ///< To be completed with Errc::read_pending.
  std::vector<std::uint32_t> stopped_;
  Finish finish_;
};

}  // namespace tickertape::actors
