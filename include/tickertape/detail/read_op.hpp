// ReadOp: binds a completion handler of async_next to a stream's shared state.
#pragma once
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include <tickertape/detail/stream_core.hpp>
#include <tickertape/detail/waiting_handler.hpp>

namespace tickertape::detail {

/// How the outcome is given to a handler of async_next.
struct SingleRead {
  template <class Handler>
  static void invoke(Handler& handler, error_code error, std::vector<Token>&& tokens) {
    std::optional<Token> token;
    if (!tokens.empty()) token.emplace(std::move(tokens.front()));
    std::move(handler)(error, std::move(token));
  }
};

/// The same for async_next_batch.
struct BatchRead {
  template <class Handler>
  static void invoke(Handler& handler, error_code error, std::vector<Token>&& tokens) {
    std::move(handler)(error, std::move(tokens));
  }
};

template <class Shape, class Handler>
class ReadOp final : public PendingRead {
 public:
  ReadOp(Handler&& handler, const boost::asio::any_io_executor& executor)
      : handler_(std::move(handler), boost::asio::get_associated_executor(handler, executor)) {}

  void complete(error_code error, std::vector<Token>&& tokens) override {
    handler_.complete([error, tokens = std::move(tokens)](Handler& handler) mutable {
      Shape::invoke(handler, error, std::move(tokens));
    });
  }

 private:
  using Executor = boost::asio::associated_executor_t<Handler, boost::asio::any_io_executor>;

  WaitingHandler<Handler, Executor> handler_;
};

/// The initiation of a read: builds the op, starts it, and connects the cancellation slot. Every
/// cancellation type stops only this read (awaitable operators such as || emit all of them).
template <class Shape, class Handler>
void start_read(const std::shared_ptr<StreamCore>& core, std::size_t limit, Handler&& handler) {
  using Decayed = std::decay_t<Handler>;
  if (!core) {  // A default-constructed stream: its end, through the handler's own executor.
    auto executor = boost::asio::get_associated_executor(handler);
    boost::asio::post(executor, [handler = Decayed(std::forward<Handler>(handler))]() mutable {
      Shape::invoke(handler, error_code(), std::vector<Token>());
    });
    return;
  }
  const boost::asio::any_io_executor own = core->executor();
  if constexpr (std::is_same_v<
                    boost::asio::associated_executor_t<Decayed, boost::asio::any_io_executor>,
                    boost::asio::any_io_executor>) {
    // The context is gone: the handler is destroyed without being called, as Asio does.
    if (!boost::asio::get_associated_executor(handler, own)) return;
  }
  auto slot = boost::asio::get_associated_cancellation_slot(handler);
  auto op = std::make_unique<ReadOp<Shape, Decayed>>(Decayed(std::forward<Handler>(handler)), own);
  const std::uint64_t number = core->reserve_read();
  if (slot.is_connected()) {
    slot.assign([weak = std::weak_ptr<StreamCore>(core), number](boost::asio::cancellation_type) {
      if (auto alive = weak.lock()) alive->cancel_read(number);
    });
  }
  core->start_read(number, std::move(op), limit);
}

}  // namespace tickertape::detail
