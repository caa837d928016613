// StreamCore: the shared state of a stream as TokenStream's templates see it.
#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <tickertape/finish.hpp>

namespace tickertape::detail {

/// A read that waits for tokens. Type-erased so that the engine needs no Asio.
class PendingRead {
 public:
  virtual ~PendingRead() = default;
  /// Hands the outcome to the handler; called once, on the stream's executor.
  virtual void complete(error_code error, std::vector<Token>&& tokens) = 0;
};

/// Thread rules: every member may be called from any thread.
class StreamCore {
 public:
  virtual ~StreamCore() = default;

  /// A number for the next read, so that its cancellation can be connected before it starts.
  [[nodiscard]] virtual std::uint64_t reserve_read() = 0;

  /// Starts a read of up to `limit` tokens; it completes later, never inside this call. A second
  /// pending read completes with Errc::read_pending.
  virtual void start_read(std::uint64_t number, std::unique_ptr<PendingRead> read,
                          std::size_t limit) = 0;

  /// Completes the read with operation_aborted if it still waits.
  virtual void cancel_read(std::uint64_t number) = 0;

  virtual void add_credit(std::uint32_t tokens) = 0;
  virtual void cancel() = 0;
  virtual void drop() noexcept = 0;  ///< The reader is gone: cancel, and keep nothing for it.
  [[nodiscard]] virtual Finish finish() const = 0;
  [[nodiscard]] virtual bool done() const = 0;
  [[nodiscard]] virtual const Accepted& accepted() const = 0;
  [[nodiscard]] virtual boost::asio::any_io_executor executor() const = 0;
};

}  // namespace tickertape::detail
