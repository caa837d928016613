// handler_executor: where a completion handler wants to run.
#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/system_executor.hpp>
#include <type_traits>

namespace tickertape::detail {

/// The executor that a completion handler brings, or an empty one.
template <class Handler>
boost::asio::any_io_executor handler_executor(const Handler& handler) {
  const auto executor = boost::asio::get_associated_executor(handler);
  if constexpr (std::is_same_v<std::decay_t<decltype(executor)>, boost::asio::system_executor>) {
    return {};
  } else {
    return executor;
  }
}

}  // namespace tickertape::detail
