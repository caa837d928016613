// TokenStream: the tokens of one request as they come, and how it ended.
#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tickertape/batch.hpp>
#include <tickertape/detail/read_op.hpp>
#include <tickertape/detail/stream_core.hpp>
#include <tickertape/finish.hpp>

namespace tickertape {

/// The reader's end of one generation. Movable; dropping it cancels the generation.
///
/// Thread rules: one thread at a time. Completion handlers run on their associated executor (the
/// stream's own by default) and never inside the initiating call. A stream may outlive its Engine:
/// it then ends with FinishReason::shutdown.
class TokenStream {
 public:
  TokenStream() = default;  ///< Not a stream: finished, with FinishReason::none.
  explicit TokenStream(std::shared_ptr<detail::StreamCore> core) : core_(std::move(core)) {}
  TokenStream(TokenStream&&) noexcept = default;
  TokenStream& operator=(TokenStream&& other) noexcept {
    if (this != &other) {
      drop();
      core_ = std::move(other.core_);
    }
    return *this;
  }
  ~TokenStream() { drop(); }

  /// The next token. Completes with `void(error_code, std::optional<Token>)`: a token; or no token
  /// and no error at the end of the stream (see finish()); or operation_aborted when this read was
  /// cancelled (no token is lost); or Errc::read_pending when another read waits.
  template <class CompletionToken>
  auto async_next(CompletionToken&& token) {
    return boost::asio::async_initiate<CompletionToken, void(error_code, std::optional<Token>)>(
        [core = core_](auto&& handler) {
          detail::start_read<detail::SingleRead>(core, 1, std::forward<decltype(handler)>(handler));
        },
        token);
  }

  /// All tokens that are ready, at least one. Completes with `void(error_code,
  /// std::vector<Token>)`; an empty vector without error is the end of the stream.
  template <class CompletionToken>
  auto async_next_batch(CompletionToken&& token) {
    return boost::asio::async_initiate<CompletionToken, void(error_code, std::vector<Token>)>(
        [core = core_](auto&& handler) {
          detail::start_read<detail::BatchRead>(core, std::numeric_limits<std::size_t>::max(),
                                                std::forward<decltype(handler)>(handler));
        },
        token);
  }

  /// Allows `tokens` more undelivered tokens (with Request::manual_credit).
  void add_credit(std::uint32_t tokens) {
    if (core_) core_->add_credit(tokens);
  }

  /// Ends the generation with FinishReason::cancelled, unless it has ended. Tokens that were ready
  /// can still be read.
  void cancel() {
    if (core_) core_->cancel();
  }

  /// How it ended; FinishReason::none while it has not. Complete once a read has told the end.
  [[nodiscard]] Finish finish() const { return core_ ? core_->finish() : Finish{}; }

  /// True once the end is known and every token was read.
  [[nodiscard]] bool done() const { return !core_ || core_->done(); }

  /// What the engine made of the request at submit: ids, seed, limits.
  [[nodiscard]] const Accepted& accepted() const { return core_ ? core_->accepted() : none(); }

  [[nodiscard]] boost::asio::any_io_executor get_executor() const {
    return core_ ? core_->executor() : boost::asio::any_io_executor();
  }

  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(core_); }

 private:
  static const Accepted& none() {
    static const Accepted accepted;
    return accepted;
  }
  void drop() noexcept {
    if (auto core = std::exchange(core_, nullptr)) core->drop();
  }

  std::shared_ptr<detail::StreamCore> core_;
};

}  // namespace tickertape
