// SimPoster: a Poster over a scheduler, whose context dies when a test says so.
#pragma once
#include <memory>
#include <utility>

#include "runtime/intrusive_list.hpp"
#include "runtime/poster.hpp"

namespace tickertape::runtime {

/// Thread rules: the scheduler's own thread. The scheduler outlives the poster.
class SimPoster final : public Poster {
 public:
  explicit SimPoster(Scheduler& scheduler) noexcept : scheduler_(scheduler) {}

  /// As with Asio, posted works outlive the poster: they are handed to the scheduler itself.
  ~SimPoster() override {
    drop_pending([this](Work* work) { scheduler_.post(work); });
  }

  bool post(Work* work) override {
    if (dead_) return false;
    auto* envelope = new Envelope;
    envelope->tag = work->tag;
    envelope->target = work;
    envelope->run = [](Work* self) {
      std::unique_ptr<Envelope> owned(static_cast<Envelope*>(self));
      Work* target = owned->target;
      owned.reset();
      target->run(target);
    };
    pending_.push_back(*envelope);
    scheduler_.post(envelope);
    return true;
  }

  void set_shutdown_listener(ShutdownListener* listener) override {
    listener_ = listener;
    if (dead_) tell();
  }

  /// The end of the context: works that wait to run never will, later posts fail, and the listener
  /// is told.
  void kill() {
    dead_ = true;
    drop_pending([](Work*) {});
    tell();
  }

 private:
  /// Stands in the scheduler's queue for a posted work, so that it can be taken out again.
  struct Envelope : Work, ListNode<Envelope> {
    Work* target = nullptr;
  };

  template <class Then>
  void drop_pending(Then then) {
    while (!pending_.empty()) {
      const std::unique_ptr<Envelope> envelope(&pending_.front());
      envelope->unlink();
      scheduler_.cancel(envelope.get());
      then(envelope->target);
    }
  }

  void tell() noexcept {
    ShutdownListener* listener = std::exchange(listener_, nullptr);
    if (listener != nullptr) listener->context_shutdown();
  }

  Scheduler& scheduler_;
  bool dead_ = false;
  ShutdownListener* listener_ = nullptr;
  IntrusiveList<Envelope> pending_;
};

}  // namespace tickertape::runtime
