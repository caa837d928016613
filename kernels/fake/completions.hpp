// Completions: the outcomes of a fake device's operations, and when the host hears of them.
#pragma once
#include <cstdint>
#include <unordered_map>

#include <tickertape/backend.hpp>

namespace tickertape::kernels::fake {

/// A device that works through its operations one after the other. Lane only.
class Completions {
 public:
  explicit Completions(BackendHost& host) : host_(host) {}

  /// Keeps the outcome and posts the ticket at once.
  void post(Ticket ticket, BatchResult result);

  /// Keeps the outcome and posts the ticket when all earlier operations and then `duration_ns` more
  /// have passed.
  void post_after(Ticket ticket, BatchResult result, std::int64_t duration_ns);

  /// Keeps the outcome; somebody else posts the ticket.
  void keep(Ticket ticket, BatchResult result);

  /// False, and nothing moved, for a ticket that has no outcome.
  [[nodiscard]] bool take(Ticket ticket, BatchResult& result);

 private:
  BackendHost& host_;
  std::int64_t busy_until_ns_ = 0;
  std::unordered_map<Ticket, BatchResult> results_;
};

}  // namespace tickertape::kernels::fake
