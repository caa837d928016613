// AsioPoster: a Poster for an Asio executor.
#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <memory>

#include "runtime/poster.hpp"

namespace tickertape::runtime {

/// Posts to any executor (io_context, thread_pool, strands of them, ...). The end of its execution
/// context is seen through a service in that context.
class AsioPoster : public Poster {
 public:
  /// A copy of the executor; empty once the context is gone. Only for whoever keeps the context
  /// alive meanwhile: a strand's executor must not outlive its context. Any thread.
  [[nodiscard]] virtual boost::asio::any_io_executor executor() const = 0;

  /// Whether this is the poster of `executor` (as plain_executor() gives it); false once the
  /// context is gone. Any thread, at any time.
  [[nodiscard]] virtual bool uses(const boost::asio::any_io_executor& executor) const = 0;
};

/// REQUIRES: the context is not being destroyed during this call.
[[nodiscard]] std::shared_ptr<AsioPoster> make_asio_poster(
    const boost::asio::any_io_executor& executor);

/// `executor` as posters keep it: without counting as outstanding work. Two of them are equal when
/// they are the same executor.
[[nodiscard]] boost::asio::any_io_executor plain_executor(
    const boost::asio::any_io_executor& executor);

}  // namespace tickertape::runtime
