// Completions of a fake device.
#include "kernels/fake/completions.hpp"

#include <algorithm>
#include <utility>

namespace tickertape::kernels::fake {

void Completions::post(Ticket ticket, BatchResult result) {
  keep(ticket, std::move(result));
  host_.post(ticket);
}

void Completions::post_after(Ticket ticket, BatchResult result, std::int64_t duration_ns) {
  keep(ticket, std::move(result));
  busy_until_ns_ = std::max(busy_until_ns_, host_.now()) + duration_ns;
  host_.post_at(ticket, busy_until_ns_);
}

void Completions::keep(Ticket ticket, BatchResult result) {
  results_.insert_or_assign(ticket, std::move(result));
}

bool Completions::take(Ticket ticket, BatchResult& result) {
  const auto found = results_.find(ticket);
  if (found == results_.end()) return false;
  result = std::move(found->second);
  results_.erase(found);
  return true;
}

}  // namespace tickertape::kernels::fake
