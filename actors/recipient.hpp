// Recipient: who gets events through an outbox.
#pragma once
#include "actors/request_output.hpp"
#include "actors/stream_event.hpp"

namespace tickertape::actors {

class Recipient {
 public:
  virtual ~Recipient() = default;
  /// On the outbox's executor, one call of an outbox at a time. `output` is the drain's: a place to
  /// work in, with what the delivery before left there.
  virtual void deliver(StreamEvent& event, RequestOutput& output) = 0;
  /// Asks for memory that deliver() will touch; its own front is there already. As deliver().
  virtual void prefetch() const noexcept {}
  /// The executor's context has ended: nobody will be called any more. Any thread.
  virtual void abandon() noexcept = 0;
};

}  // namespace tickertape::actors
