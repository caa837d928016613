// Outbox: the frames that wait to be written to one connection.
#pragma once
#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <utility>

#include "net/generation.hpp"

namespace tickertape::net {

struct OutgoingFrame {
  std::string text;
  std::shared_ptr<Generation> token_of;  ///< Whose token it is; null for the other frames.
  bool is_answer = false;                ///< Made because the client has sent something.
};

/// Counts bytes from push() to written(): a frame that is being written is still in memory.
class Outbox {
 public:
  void push(OutgoingFrame frame) {
    bytes_ += frame.text.size();
    if (frame.is_answer) answer_bytes_ += frame.text.size();
    frames_.push_back(std::move(frame));
  }

  /// REQUIRES: !empty().
  [[nodiscard]] OutgoingFrame pop() {
    OutgoingFrame frame = std::move(frames_.front());
    frames_.pop_front();
    return frame;
  }

  void written(const OutgoingFrame& frame) noexcept {
    bytes_ -= frame.text.size();
    if (frame.is_answer) answer_bytes_ -= frame.text.size();
  }

  [[nodiscard]] bool empty() const noexcept { return frames_.empty(); }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  /// Bytes of the answers: they do not wait for room, so a client that sends without reading could
  /// pile them up.
  [[nodiscard]] std::size_t answer_bytes() const noexcept { return answer_bytes_; }

 private:
  std::deque<OutgoingFrame> frames_;
  std::size_t bytes_ = 0;
  std::size_t answer_bytes_ = 0;
};

}  // namespace tickertape::net
