// The default scheduling policies.
#pragma once
#include <memory>

#include <tickertape/policy.hpp>

namespace tickertape::actors {

/// Admits when all known tokens fit now. A sequence that was preempted must also find a free page
/// to go on with, unless it is alone: so that a resumption is worth its recomputation.
[[nodiscard]] std::shared_ptr<const AdmissionPolicy> prompt_only_admission();

/// Parked beyond its grace first, then parked, then the youngest; never the oldest runnable one
/// while there is another.
[[nodiscard]] std::shared_ptr<const PreemptionPolicy> youngest_first_preemption();

/// First come, first served: by arrival, which a preempted sequence keeps.
[[nodiscard]] std::shared_ptr<const OrderPolicy> first_come_order();

}  // namespace tickertape::actors
