// WsClient: framing without a library, and the order of a generation's messages.
#include "tests/support/ws_client.hpp"

#include <stdexcept>
#include <utility>

namespace tickertape::test {

std::string WsClient::frame(unsigned opcode, std::string_view payload, bool fin) {
  std::string out(1, static_cast<char>((fin ? 0x80U : 0U) | opcode));
  if (payload.size() < 126) {
    out += static_cast<char>(0x80U | payload.size());
  } else if (payload.size() < 65536) {
    out += static_cast<char>(0x80U | 126U);
    for (int shift = 8; shift >= 0; shift -= 8) out += static_cast<char>(payload.size() >> shift);
  } else {
    out += static_cast<char>(0x80U | 127U);
    for (int shift = 56; shift >= 0; shift -= 8) {
      out += static_cast<char>(std::uint64_t{payload.size()} >> shift);
    }
  }
  out += std::string(4, '\0');
  out += payload;
  return out;
}

WsFrame WsClient::next_frame() {
  for (;;) {
    if (auto size = frame_size()) {
      WsFrame out;
      out.opcode = static_cast<unsigned char>(buffer_[0]) & 0x0F;
      out.payload = buffer_.substr(header_size_, size - header_size_);
      out.at = std::chrono::steady_clock::now();
      buffer_.erase(0, size);
      return out;
    }
    const std::string some = socket_.read();
    if (some.empty()) return {};
    buffer_ += some;
  }
}

Json WsClient::next() {
  for (;;) {
    const WsFrame frame = next_frame();
    if (frame.opcode == 1) return Json::parse(frame.payload);
    if (frame.opcode == 0 || frame.opcode == 8) {
      throw std::runtime_error("closed with " + std::to_string(frame.close_code()));
    }
  }
}

Json WsClient::until(std::string_view type, std::string_view id) {
  for (;;) {
    Json message = next();
    const bool fits = message["type"] == type && (id.empty() || message.value("id", "") == id);
    if (fits) return message;
    skipped_.push_back(std::move(message));
  }
}

int WsClient::wait_close() {
  for (;;) {
    const WsFrame frame = next_frame();
    if (frame.opcode == 8 || frame.opcode == 0) return frame.close_code();
  }
}

std::size_t WsClient::frame_size() {
  if (buffer_.size() < 2) return 0;
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(buffer_[i]); };
  std::uint64_t length = byte(1) & 0x7F;
  header_size_ = 2 + (length == 126 ? 2 : length == 127 ? 8 : 0);
  if (buffer_.size() < header_size_) return 0;
  if (length >= 126) {
    length = 0;
    for (std::size_t i = 2; i < header_size_; ++i) length = length << 8 | byte(i);
  }
  return buffer_.size() < header_size_ + length ? 0 : header_size_ + length;
}

void add_frame(Answer& answer, const Json& message) {
  const std::string type = message.at("type");
  const auto expect = [&](bool fine, const char* what) {
    if (!fine && answer.trouble.empty()) answer.trouble = what;
  };
  expect(answer.done.is_null(), "a frame after done");
  if (type == "accepted") {
    expect(answer.accepted.is_null(), "accepted twice");
    answer.accepted = message;
  } else if (type == "token") {
    expect(!answer.accepted.is_null(), "a token before accepted");
    expect(message.at("seq") == answer.tokens.size(), "a gap in seq");
    answer.tokens.push_back(message.at("token"));
    answer.text += message.at("text");
  } else if (type == "done") {
    expect(!answer.accepted.is_null(), "done before accepted");
    answer.done = message;
    expect(message.at("usage").at("completion_tokens") == answer.tokens.size(), "usage is wrong");
  }
  answer.frames.push_back(message);
}

Answer read_answer(WsClient& client, std::string_view id) {
  Answer answer;
  while (answer.done.is_null()) {
    const Json message = client.next();
    if (message.value("id", "") != id)
      throw std::runtime_error("another's frame: " + message.dump());
    add_frame(answer, message);
    if (message["type"] == "error") break;
  }
  return answer;
}

WsClient::WsClient(std::uint16_t port, int receive_bytes, std::string_view fields)
    : socket_(port, receive_bytes) {
  socket_.send(std::string(kHandshake) + std::string(fields) + "\r\n");
  std::size_t end = std::string::npos;
  while (end == std::string::npos) {
    const std::string some = socket_.read();
    if (some.empty()) break;
    buffer_ += some;
    end = buffer_.find("\r\n\r\n");
  }
  header_ = buffer_.substr(0, end);
  buffer_.erase(0, end == std::string::npos ? end : end + 4);
}

}  // namespace tickertape::test
