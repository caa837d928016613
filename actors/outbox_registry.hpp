// OutboxRegistry: finds the outbox of an executor.
#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <memory>
#include <mutex>
#include <vector>

#include "actors/outbox.hpp"
#include "runtime/asio_poster.hpp"

namespace tickertape::actors {

/// One outbox per executor, as long as a stream uses it. Any thread.
class OutboxRegistry {
 public:
  /// REQUIRES: `executor` is not empty and its context is alive.
  [[nodiscard]] std::shared_ptr<Outbox> find_or_make(const boost::asio::any_io_executor& executor);

 private:
  struct Entry {
    std::weak_ptr<Outbox> outbox;
    std::weak_ptr<runtime::AsioPoster> poster;
  };
  std::mutex mutex_;
  std::vector<Entry> entries_;
};

/// What Stream::executor() answers: a copy while the context lives.
[[nodiscard]] boost::asio::any_io_executor executor_of(const std::shared_ptr<Outbox>& outbox);

}  // namespace tickertape::actors
