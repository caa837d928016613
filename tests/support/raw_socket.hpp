// RawSocket: a blocking TCP socket for tests that want to be rude.
#pragma once
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace tickertape::test {

/// Reads give up after two minutes: a guard against hanging, not a limit that a test judges by.
class RawSocket {
 public:
  /// A receive buffer of `receive_bytes` (0 = the system's) is set before the connection is made.
  explicit RawSocket(std::uint16_t port, int receive_bytes = 0)
      : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
    if (receive_bytes > 0) {
      ::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof receive_bytes);
    }
    const int on = 1;
    ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
      throw std::runtime_error("connect failed");
    }
  }
  /// Takes over a connected socket.
  static RawSocket adopt(int fd) { return RawSocket(Adopted{fd}); }
  RawSocket(RawSocket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  RawSocket& operator=(RawSocket&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~RawSocket() { close(); }

  /// False if the peer has closed.
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent < 0 && errno == EINTR) continue;
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }

  /// Some bytes; empty at the end or after a reset (see was_reset()).
  std::string read() {
    pollfd entry{fd_, POLLIN, 0};
    if (::poll(&entry, 1, 120'000) <= 0) throw std::runtime_error("nothing came in two minutes");
    char bytes[16384];
    const ssize_t count = ::recv(fd_, bytes, sizeof bytes, 0);
    was_reset_ = count < 0;
    return count <= 0 ? std::string() : std::string(bytes, static_cast<std::size_t>(count));
  }

  /// Everything until the peer closes.
  std::string read_all() {
    std::string all;
    for (std::string some = read(); !some.empty(); some = read()) all += some;
    return all;
  }

  [[nodiscard]] bool was_reset() const noexcept { return was_reset_; }

  void shutdown_send() { ::shutdown(fd_, SHUT_WR); }
  void close() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }
  /// Ends the connection with RST.
  void reset() {
    const linger now{1, 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    close();
  }

 private:
  struct Adopted {
    int fd;
  };
  explicit RawSocket(Adopted socket) : fd_(socket.fd) {}

  int fd_;
  bool was_reset_ = false;
};

}  // namespace tickertape::test
