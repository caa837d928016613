// Preemption: which running sequence gives up its pages.
#include "actors/preemption.hpp"

#include <tuple>
#include <utility>

#include <tickertape/assert.hpp>

namespace tickertape::actors {
namespace {

class YoungestFirst final : public PreemptionPolicy {
 public:
  explicit YoungestFirst(std::shared_ptr<const OrderPolicy> order) : order_(std::move(order)) {}

  std::optional<std::size_t> choose(std::span<const SequenceView> running, std::size_t /*grower*/,
                                    std::size_t oldest, std::int64_t park_grace_ns,
                                    std::int64_t now_ns) const override {
    std::optional<std::size_t> best;
    std::tuple<bool, std::int32_t, bool, std::uint64_t> most{};
    for (std::size_t i = 0; i < running.size(); ++i) {
      if (i == oldest) continue;
      const SequenceView& view = running[i];
      const bool beyond_grace = view.parked && now_ns - view.parked_since_ns >= park_grace_ns;
      const std::tuple key(beyond_grace, order_->preemption_class(view), view.parked, view.arrival);
      if (best && key <= most) continue;
      best = i;
      most = key;
    }
    return best;
  }

 private:
  std::shared_ptr<const OrderPolicy> order_;
};

}  // namespace

std::shared_ptr<const PreemptionPolicy> youngest_first_preemption(
    std::shared_ptr<const OrderPolicy> order) {
  TICKERTAPE_ASSERT(order != nullptr);
  return std::make_shared<YoungestFirst>(std::move(order));
}

}  // namespace tickertape::actors
