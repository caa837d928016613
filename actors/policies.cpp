// The default scheduling policies.
#include "actors/policies.hpp"

#include <tuple>

namespace tickertape::actors {
namespace {

class PromptOnly final : public AdmissionPolicy {
 public:
  bool admit(const AdmissionInput& input) const override {
    const SequenceView& candidate = input.candidate;
    const std::uint32_t needed =
        pages_for(candidate.num_tokens, input.pool.page_size) - candidate.shareable;
    const bool resumes = candidate.preemptions > 0 && !input.running.empty();
    return needed + (resumes ? 1 : 0) <= input.pool.num_free;
  }
};

class YoungestFirst final : public PreemptionPolicy {
 public:
  std::optional<std::size_t> choose(std::span<const SequenceView> running, std::size_t,
                                    std::size_t oldest, std::int64_t park_grace_ns,
                                    std::int64_t now_ns) const override {
    std::optional<std::size_t> best;
    std::tuple<int, std::uint64_t> best_rank;
    for (std::size_t i = 0; i < running.size(); ++i) {
      if (i == oldest) continue;
      const SequenceView& view = running[i];
      const bool beyond_grace = view.parked && now_ns - view.parked_since_ns >= park_grace_ns;
      const std::tuple rank(beyond_grace ? 2 : view.parked ? 1 : 0, view.arrival);
      if (!best || rank > best_rank) {
        best = i;
        best_rank = rank;
      }
    }
    return best;
  }
};

class FirstCome final : public OrderPolicy {
 public:
  std::int64_t rank(const SequenceView&) const override { return 0; }
};

}  // namespace

std::shared_ptr<const AdmissionPolicy> prompt_only_admission() {
  return std::make_shared<PromptOnly>();
}
std::shared_ptr<const PreemptionPolicy> youngest_first_preemption() {
  return std::make_shared<YoungestFirst>();
}
std::shared_ptr<const OrderPolicy> first_come_order() {
  return std::make_shared<FirstCome>();
}

}  // namespace tickertape::actors
