// Outbox: the one pending batch of events for an executor.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "actors/recipient.hpp"
#include "actors/stream_event.hpp"
#include "runtime/poster.hpp"

namespace tickertape::actors {

/// Carries events from the lane to the streams of one executor. At most one drain is posted at any
/// time, so a tick costs an executor one post however many streams it has; and drains of one outbox
/// never overlap, also when many threads run the executor.
///
/// Thread rules: stage() and flush() on the lane; the rest on any thread. When the executor's
/// context ends, pending reads are destroyed without being called, as Asio does.
class Outbox final : public std::enable_shared_from_this<Outbox>,
                     private runtime::Work,
                     private runtime::ShutdownListener {
 public:
  explicit Outbox(std::shared_ptr<runtime::Poster> poster);
  ~Outbox();

  /// Recipients are known here from their start, so that the end of the context reaches them.
  /// Gives a key for detach(), never 0.
  [[nodiscard]] std::uint64_t attach(std::weak_ptr<Recipient> recipient);
  void detach(std::uint64_t key) noexcept;

  /// Adds an event to the tick's batch; nothing is posted yet.
  void stage(std::shared_ptr<Recipient> recipient, StreamEvent event);
  [[nodiscard]] bool has_staged() const noexcept { return !staged_.empty(); }
  /// Hands the tick's batch over.
  void flush();

  /// Makes the executor look at `recipient` soon. False when the executor's context has ended.
  bool poke(std::shared_ptr<Recipient> recipient);

  [[nodiscard]] const std::shared_ptr<runtime::Poster>& poster() const noexcept { return poster_; }

 private:
  struct Item {
    std::shared_ptr<Recipient> recipient;
    StreamEvent event;
  };

  void drain();
  void end_drain(std::size_t num_done);
  /// True when the caller must post(), after it let go of mutex_. REQUIRES: mutex_ is held.
  [[nodiscard]] bool claim_post();
  /// False when the context is gone.
  bool post();
  void context_shutdown() noexcept override;

  const std::shared_ptr<runtime::Poster> poster_;
  // Three batches go round, so that a tick needs no memory: what the lane fills, what waits, what
  // is drained.
  std::vector<Item> staged_;   ///< The lane's.
  std::vector<Item> drained_;  ///< The drain's, else empty.

  std::mutex mutex_;
  std::vector<Item> pending_;
  bool posted_ = false;  ///< A drain is posted or runs.
  bool dead_ = false;
  std::shared_ptr<Outbox> self_;  ///< While posted: the Work lives in here.
  std::map<std::uint64_t, std::weak_ptr<Recipient>> recipients_;  ///< In a fixed order.
  std::uint64_t next_key_ = 1;
};

}  // namespace tickertape::actors
