// CallOp: binds a completion handler of a submit or connect to the state of the call.
#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <memory>
#include <type_traits>
#include <utility>

#include <tickertape/detail/waiting_handler.hpp>
#include <tickertape/token_stream.hpp>

namespace tickertape::detail {

/// A handler that waits for the outcome of a call.
class PendingCall {
 public:
  virtual ~PendingCall() = default;
  /// Hands the outcome to the handler; called once, on the handler's executor.
  virtual void complete(error_code error, TokenStream&& stream) = 0;
};

/// A call's state before and while it runs. Thread rules: any thread.
class AsyncCall {
 public:
  virtual ~AsyncCall() = default;
  /// Where its handler runs; empty when that context has ended.
  [[nodiscard]] virtual boost::asio::any_io_executor call_executor() const = 0;
  /// Begins; `pending` completes later, never inside this call.
  virtual void start_call(std::unique_ptr<PendingCall> pending) = 0;
  /// Completes with operation_aborted if it still waits.
  virtual void cancel_call() = 0;
};

struct ConnectShape {
  template <class Handler>
  static void invoke(Handler& handler, error_code error, TokenStream&&) {
    std::move(handler)(error);
  }
};

struct SubmitShape {
  template <class Handler>
  static void invoke(Handler& handler, error_code error, TokenStream&& stream) {
    std::move(handler)(error, std::move(stream));
  }
};

template <class Shape, class Handler>
class CallOp final : public PendingCall {
 public:
  CallOp(Handler&& handler, const boost::asio::any_io_executor& executor)
      : handler_(std::move(handler), executor) {}

  void complete(error_code error, TokenStream&& stream) override {
    handler_.complete([error, stream = std::move(stream)](Handler& handler) mutable {
      Shape::invoke(handler, error, std::move(stream));
    });
  }

 private:
  WaitingHandler<Handler, boost::asio::any_io_executor> handler_;
};

/// The initiation of a call (null: there is no context to run it). Every cancellation type stops
/// it.
template <class Shape, class Handler>
void start_call(const std::shared_ptr<AsyncCall>& call, Handler&& handler) {
  using Decayed = std::decay_t<Handler>;
  const boost::asio::any_io_executor executor =
      call ? call->call_executor() : boost::asio::any_io_executor();
  // The context is gone: the handler is destroyed without being called, as Asio does.
  if (!executor) return;
  auto slot = boost::asio::get_associated_cancellation_slot(handler);
  auto op =
      std::make_unique<CallOp<Shape, Decayed>>(Decayed(std::forward<Handler>(handler)), executor);
  if (slot.is_connected()) {
    slot.assign([weak = std::weak_ptr<AsyncCall>(call)](boost::asio::cancellation_type) {
      if (auto alive = weak.lock()) alive->cancel_call();
    });
  }
  call->start_call(std::move(op));
}

}  // namespace tickertape::detail
