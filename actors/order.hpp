// Order: in which order waiting sequences are looked at.
#pragma once
#include <cstdint>
#include <memory>

#include <tickertape/policy.hpp>

namespace tickertape::actors {

/// First come, first served: by arrival, which a preempted sequence keeps.
[[nodiscard]] std::shared_ptr<const OrderPolicy> fcfs_order();

/// The smaller priority first, and each `ageing_ns` of waiting counts as much as one step: rank =
/// priority * ageing_ns + arrival_ns, saturating, so nobody waits without bound. A waiting sequence
/// preempts running ones of a larger priority. Throws Error unless ageing_ns > 0.
[[nodiscard]] std::shared_ptr<const OrderPolicy> priority_order(std::int64_t ageing_ns);

/// The earliest deadline first; those that cannot meet theirs any more are ended, and while others
/// wait also those that probably will not.
[[nodiscard]] std::shared_ptr<const OrderPolicy> deadline_order();

/// Clients take turns (see WaitingLine), those of one client by arrival, and one with fewer places
/// takes one from who has more.
[[nodiscard]] std::shared_ptr<const OrderPolicy> fair_order();

}  // namespace tickertape::actors
