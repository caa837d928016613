// Deadline: a limit in time for the operations of one socket.
#pragma once
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <memory>

namespace tickertape::net {

[[nodiscard]] inline std::chrono::milliseconds to_duration(double seconds) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
}

/// When time is up the socket's pending operations end with operation_aborted and expired() is
/// true; the socket stays open, so an answer can still be written.
///
/// Thread rules: the socket's executor.
class Deadline {
 public:
  explicit Deadline(boost::asio::ip::tcp::socket& socket)
      : socket_(socket), timer_(socket.get_executor()) {}

  /// Starts again. `owner` owns this object and the socket.
  void start(std::weak_ptr<void> owner, double seconds) {
    const std::uint64_t number = ++number_;
    expired_ = false;
    timer_.expires_after(to_duration(seconds));
    timer_.async_wait([this, owner = std::move(owner), number](boost::system::error_code error) {
      const auto alive = owner.lock();
      // An expiry that was under way when the deadline was moved must not count.
      if (!alive || error || number != number_) return;
      expired_ = true;
      boost::system::error_code ignored;
      socket_.cancel(ignored);
    });
  }

  void stop() {
    ++number_;
    timer_.cancel();
  }

  [[nodiscard]] bool expired() const noexcept { return expired_; }

 private:
  boost::asio::ip::tcp::socket& socket_;
  boost::asio::steady_timer timer_;
  std::uint64_t number_ = 0;
  bool expired_ = false;
};

}  // namespace tickertape::net
