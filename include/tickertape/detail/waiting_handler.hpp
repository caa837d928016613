// WaitingHandler: a completion handler that is called later, and the work that it counts as.
#pragma once
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/prefer.hpp>
#include <type_traits>
#include <utility>

namespace tickertape::detail {

/// While it waits it keeps run() of its executor from returning.
template <class Handler, class Executor>
class WaitingHandler {
  using Work = std::decay_t<decltype(boost::asio::prefer(
      std::declval<Executor>(), boost::asio::execution::outstanding_work.tracked))>;

 public:
  WaitingHandler(Handler&& handler, const Executor& executor)
      : work_(boost::asio::prefer(executor, boost::asio::execution::outstanding_work.tracked)),
        handler_(std::move(handler)) {}

  /// Runs `call(handler)` on the executor, at once when that is where we are. Once.
  template <class Call>
  void complete(Call&& call) {
    boost::asio::get_associated_cancellation_slot(handler_).clear();
    auto work = std::move(work_);  // Released after the handler has been handed over.
    boost::asio::dispatch(work, [handler = std::move(handler_),
                                 call = std::forward<Call>(call)]() mutable { call(handler); });
  }

 private:
  Work work_;  ///< First: `executor` may be a part of the handler that is moved.
  Handler handler_;
};

}  // namespace tickertape::detail
