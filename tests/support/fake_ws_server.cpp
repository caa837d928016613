// FakeWsServer: the server's half of RFC 6455 in as few words as tests need.
#include "tests/support/fake_ws_server.hpp"

#include <boost/beast/core/detail/base64.hpp>
#include <boost/uuid/detail/sha1.hpp>
#include <stdexcept>

namespace tickertape::test {
namespace {

std::string accept_key(const std::string& key) {
  boost::uuids::detail::sha1 hash;
  const std::string text = key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
  hash.process_bytes(text.data(), text.size());
  boost::uuids::detail::sha1::digest_type words{};
  hash.get_digest(words);
  unsigned char digest[20];
  for (unsigned i = 0; i < 20; ++i) {
    digest[i] = static_cast<unsigned char>(words[i / 4] >> (24 - 8 * (i % 4)));
  }
  std::string out(boost::beast::detail::base64::encoded_size(sizeof digest), '\0');
  out.resize(boost::beast::detail::base64::encode(out.data(), digest, sizeof digest));
  return out;
}

}  // namespace

void FakeWsConnection::read_upgrade() {
  std::size_t end = std::string::npos;
  while ((end = buffer_.find("\r\n\r\n")) == std::string::npos) {
    const std::string some = socket_.read();
    if (some.empty()) throw std::runtime_error("the client went during the upgrade");
    buffer_ += some;
  }
  header_ = buffer_.substr(0, end + 2);
  buffer_.erase(0, end + 4);
}

void FakeWsConnection::accept_upgrade() {
  const std::string name = "Sec-WebSocket-Key: ";
  const auto start = header_.find(name);
  if (start == std::string::npos) throw std::runtime_error("no key: " + header_);
  const auto from = start + name.size();
  const std::string key = header_.substr(from, header_.find("\r\n", from) - from);
  socket_.send(
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
      "Sec-WebSocket-Protocol: tickertape.v1\r\nSec-WebSocket-Accept: " +
      accept_key(key) + "\r\n\r\n");
}

std::string FakeWsConnection::frame(unsigned opcode, std::string_view payload) {
  if (payload.size() >= 65536) throw std::length_error("longer than tests need");
  std::string out(1, static_cast<char>(0x80U | opcode));
  if (payload.size() < 126) {
    out += static_cast<char>(payload.size());
  } else {
    out += static_cast<char>(126);
    out += static_cast<char>(payload.size() >> 8);
    out += static_cast<char>(payload.size());
  }
  out += payload;
  return out;
}

void FakeWsConnection::send_hello() {
  send({{"type", "hello"}, {"protocol", "tickertape.v1"}, {"model", "fake"}});
}

void FakeWsConnection::send_accepted(const std::string& id) {
  send({{"type", "accepted"}, {"id", id}, {"request_id", 1}, {"prompt_tokens", 1}});
}

void FakeWsConnection::send_token(const std::string& id, int seq, const std::string& text) {
  send({{"type", "token"},
        {"id", id},
        {"index", 0},
        {"seq", seq},
        {"text", text},
        {"token", 65 + seq}});
}

nlohmann::json FakeWsConnection::next() {
  for (;;) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(buffer_[i]); };
    std::size_t length = buffer_.size() < 2 ? 0 : byte(1) & 0x7FU;
    std::size_t header = 6;
    if (length == 126 && buffer_.size() >= 4) {
      length = (std::size_t{byte(2)} << 8) | byte(3);
      header = 8;
    }
    if (buffer_.size() < 2 || buffer_.size() < header + length) {
      const std::string some = socket_.read();
      if (some.empty()) return nullptr;
      buffer_ += some;
      continue;
    }
    const unsigned opcode = byte(0) & 0x0FU;
    std::string payload = buffer_.substr(header, length);
    for (std::size_t i = 0; i < length; ++i) payload[i] ^= buffer_[header - 4 + i % 4];
    buffer_.erase(0, header + length);
    if (opcode == 1) return nlohmann::json::parse(payload);
    if (opcode == 8) {
      if (length >= 2) {
        close_code_ =
            (static_cast<unsigned char>(payload[0]) << 8) | static_cast<unsigned char>(payload[1]);
      }
      socket_.send(frame(8, payload));
      return nullptr;
    }
  }
}

FakeWsServer::FakeWsServer() : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  const bool fine = ::bind(fd_, generic, size) == 0 && ::listen(fd_, 16) == 0 &&
                    ::getsockname(fd_, generic, &size) == 0;
  if (!fine) throw std::runtime_error("cannot listen");
  port_ = ntohs(address.sin_port);
}

FakeWsServer::~FakeWsServer() {
  ::close(fd_);
}

FakeWsConnection FakeWsServer::accept() {
  pollfd entry{fd_, POLLIN, 0};
  if (::poll(&entry, 1, 120'000) <= 0) throw std::runtime_error("nobody came in two minutes");
  return FakeWsConnection(RawSocket::adopt(::accept(fd_, nullptr, nullptr)));
}

FakeWsConnection FakeWsServer::accept_ready() {
  FakeWsConnection connection = accept();
  connection.read_upgrade();
  connection.accept_upgrade();
  connection.send_hello();
  return connection;
}

}  // namespace tickertape::test
