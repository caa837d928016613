// Multiplexer: many generations over one connection of tickertape.v1.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "net/client_frame.hpp"
#include "net/generation.hpp"
#include "net/outbox.hpp"
#include "net/server_frames.hpp"
#include "net/server_state.hpp"

namespace tickertape::net {

/// How a multiplexer reaches its connection.
class Transport {
 public:
  /// A frame waits in the outbox.
  virtual void frames_ready() = 0;
  /// Closes with a code of RFC 6455, section 7.4; `flush` writes the waiting frames first.
  virtual void close(std::uint16_t code, std::string_view reason, bool flush) = 0;

 protected:
  ~Transport() = default;
};

/// Turns client frames into requests and streams into frames. What a client does not read is kept
/// small: a generation's next frames are made only while the outbox is under max_write_buffer, and
/// its credit comes back only when a frame was written, so the engine parks that sequence and
/// nobody else's.
///
/// Thread rules: the server's executor.
class Multiplexer : public std::enable_shared_from_this<Multiplexer> {
 public:
  /// `client` names who asks, for fair orders. REQUIRES: abandon() before `transport` dies.
  Multiplexer(std::shared_ptr<ServerState> state, Transport& transport, std::string client);

  /// Queues the first frame.
  void open();

  /// One text message of the client.
  void on_text(std::string_view text);

  [[nodiscard]] bool has_frame() const noexcept { return !outbox_.empty(); }
  /// The frame to write next. REQUIRES: has_frame().
  [[nodiscard]] OutgoingFrame take_frame() { return outbox_.pop(); }
  /// `frame` has been written to the socket.
  void written(const OutgoingFrame& frame);

  /// Takes no more submits, and closes the connection when no generation is left.
  void drain();
  /// Ends every generation as `shutdown`.
  void end_generations();
  /// The client is gone: drops every generation, at once and without a word.
  void abandon();

  [[nodiscard]] std::size_t num_generations() const noexcept { return generations_.size(); }

 private:
  using GenerationPtr = std::shared_ptr<Generation>;

  void submit(ClientFrame&& frame);
  void start(GenerationPtr generation, Request&& request);
  void credit(const ClientFrame& frame);
  void cancel(const std::string& id);

  void submitted(const GenerationPtr& generation, error_code error, TokenStream stream);
  void refused(const GenerationPtr& generation, error_code error, const ErrorInfo& info);
  void noticed(const GenerationPtr& generation, const Notice& notice);
  void read(const GenerationPtr& generation);
  void tokens_read(const GenerationPtr& generation, error_code error, std::vector<Token>&& tokens);
  void feed(const GenerationPtr& generation);
  void feed_end(const GenerationPtr& generation);
  void end_choice(const GenerationPtr& generation, const Token& last);
  [[nodiscard]] bool has_room(const GenerationPtr& generation);
  void forget(const GenerationPtr& generation);

  void refuse(std::string_view id, int status, std::string_view message, std::string_view param);
  void push(OutgoingFrame frame);
  void answer(std::string text);
  void close_if_drained();

  template <class Function>
  void guard(Function&& function);

  std::shared_ptr<ServerState> state_;
  Transport* transport_;
  std::string client_;
  Outbox outbox_;
  std::unordered_map<std::string, GenerationPtr> generations_;
  std::deque<GenerationPtr> waiting_for_room_;  ///< Have something to say and a full outbox.
  bool draining_ = false;
};

}  // namespace tickertape::net
