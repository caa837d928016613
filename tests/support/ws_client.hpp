// WsClient: a WebSocket client that can send any frame, good or bad.
#pragma once
#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/raw_socket.hpp"

namespace tickertape::test {

using Json = nlohmann::json;

struct WsFrame {
  unsigned opcode = 0;  ///< 1 text, 2 binary, 8 close, 9 ping, 10 pong; 0: the connection ended.
  std::string payload;
  std::chrono::steady_clock::time_point at;

  /// The code of a close frame; 0 if there is none.
  [[nodiscard]] int close_code() const {
    if (opcode != 8 || payload.size() < 2) return 0;
    return (static_cast<unsigned char>(payload[0]) << 8) | static_cast<unsigned char>(payload[1]);
  }
};

/// Masks with key 0, so that what is on the wire can be read. Answers nothing by itself.
class WsClient {
 public:
  static constexpr std::string_view kHandshake =
      "GET /v1/stream HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
      "Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
      "Sec-WebSocket-Version: 13\r\n";

  /// Connects and upgrades. `fields` are further header lines, each with its CRLF. Without an
  /// upgrade (status() != 101) only the socket is usable.
  explicit WsClient(std::uint16_t port, int receive_bytes = 0,
                    std::string_view fields = "Sec-WebSocket-Protocol: tickertape.v1\r\n");

  [[nodiscard]] int status() const {
    return header_.size() < 12 ? 0 : std::stoi(header_.substr(9));
  }
  [[nodiscard]] const std::string& header() const noexcept { return header_; }
  RawSocket& socket() noexcept { return socket_; }

  /// The bytes of one masked frame.
  static std::string frame(unsigned opcode, std::string_view payload, bool fin = true);

  bool send_text(std::string_view text) { return socket_.send(frame(1, text)); }
  bool send(const Json& message) { return send_text(message.dump()); }
  bool send_close(std::uint16_t code = 1000) {
    const char payload[] = {static_cast<char>(code >> 8), static_cast<char>(code)};
    return socket_.send(frame(8, {payload, 2}));
  }

  /// The next frame of any kind; opcode 0 when the connection has ended.
  WsFrame next_frame();

  /// The next text message; other frames are skipped, the end of the connection throws.
  Json next();

  /// The next message of `type` (and of `id`, unless empty); what comes before it is kept in
  /// skipped().
  Json until(std::string_view type, std::string_view id = {});

  /// The close code of the server, after whatever else it still sends; 0 if it just went.
  int wait_close();

  [[nodiscard]] const std::vector<Json>& skipped() const noexcept { return skipped_; }

 private:
  /// Bytes of the frame at the front of the buffer; 0 if it is not complete.
  std::size_t frame_size();

  RawSocket socket_;
  std::string header_;
  std::string buffer_;
  std::size_t header_size_ = 0;
  std::vector<Json> skipped_;
};

/// What one generation gave, from its accepted frame to its done frame.
struct Answer {
  std::vector<int> tokens;
  std::string text;
  Json accepted;
  Json done;
  std::vector<Json> frames;
  std::string trouble;  ///< The first broken rule of the protocol; empty if there is none.
};

/// Adds a message to its answer and checks the order: accepted, tokens 0, 1, 2, ..., done.
void add_frame(Answer& answer, const Json& message);

/// Reads until the generation `id` is done or refused. Frames of others throw.
Answer read_answer(WsClient& client, std::string_view id);

}  // namespace tickertape::test
