// ClientCall: an async_connect that waits for its outcome.
#pragma once
#include <boost/asio/error.hpp>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include <tickertape/detail/call_op.hpp>

#include "net/remote_target.hpp"

namespace tickertape::net {

class ClientCore;

/// Thread rules: any thread.
class ClientCall final : public detail::AsyncCall, public RemoteTarget {
 public:
  ClientCall(const boost::asio::any_io_executor& executor, std::weak_ptr<ClientCore> core)
      : RemoteTarget(executor), core_(std::move(core)) {}

  boost::asio::any_io_executor call_executor() const override { return executor(); }
  void start_call(std::unique_ptr<detail::PendingCall> pending) override;
  void cancel_call() override { finish(boost::asio::error::operation_aborted); }

  /// The first outcome counts.
  void finish(error_code outcome) {
    {
      const std::lock_guard lock(mutex_);
      if (outcome_) return;
      outcome_ = outcome;
    }
    schedule();
  }

 private:
  void run() override {
    std::unique_ptr<detail::PendingCall> pending;
    error_code outcome;
    {
      const std::lock_guard lock(mutex_);
      if (!pending_ || !outcome_) return;
      pending = std::move(pending_);
      outcome = *outcome_;
    }
    pending->complete(outcome, TokenStream());
  }

  /// The handler is destroyed without being called, as Asio does.
  void abandoned() noexcept override {
    std::unique_ptr<detail::PendingCall> pending;
    const std::lock_guard lock(mutex_);
    pending = std::move(pending_);
  }

  const std::weak_ptr<ClientCore> core_;
  std::mutex mutex_;
  std::unique_ptr<detail::PendingCall> pending_;
  std::optional<error_code> outcome_;
};

}  // namespace tickertape::net
