// Preemption: which running sequence gives up its pages.
#pragma once
#include <memory>

#include <tickertape/policy.hpp>

namespace tickertape::actors {

/// Parked beyond its grace first, of whatever class; then the lowest class (the largest
/// OrderPolicy::preemption_class), and within it parked before running, and the youngest first.
/// Never the oldest runnable one of the highest class: so somebody always comes to an end.
/// REQUIRES: `order` is not null.
[[nodiscard]] std::shared_ptr<const PreemptionPolicy> youngest_first_preemption(
    std::shared_ptr<const OrderPolicy> order);

}  // namespace tickertape::actors
