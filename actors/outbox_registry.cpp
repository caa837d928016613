// OutboxRegistry: finds the outbox of an executor.
#include "actors/outbox_registry.hpp"

#include <utility>

namespace tickertape::actors {

std::shared_ptr<Outbox> OutboxRegistry::find_or_make(const boost::asio::any_io_executor& executor) {
  const boost::asio::any_io_executor wanted = runtime::plain_executor(executor);
  std::vector<std::shared_ptr<Outbox>> alive;  // Dropped without the lock.
  const std::lock_guard lock(mutex_);
  std::erase_if(entries_, [](const Entry& entry) { return entry.outbox.expired(); });
  for (const Entry& entry : entries_) {
    const auto poster = entry.poster.lock();
    auto outbox = entry.outbox.lock();
    if (!poster || !outbox) continue;
    alive.push_back(outbox);
    if (poster->uses(wanted)) return outbox;
  }
  auto poster = runtime::make_asio_poster(wanted);
  auto outbox = std::make_shared<Outbox>(poster);
  entries_.push_back(Entry{outbox, poster});
  return outbox;
}

boost::asio::any_io_executor executor_of(const std::shared_ptr<Outbox>& outbox) {
  const auto* poster = dynamic_cast<const runtime::AsioPoster*>(outbox->poster().get());
  return poster != nullptr ? poster->executor() : boost::asio::any_io_executor();
}

}  // namespace tickertape::actors
