// Order: in which order waiting sequences are looked at.
#include "actors/order.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include <tickertape/errors.hpp>

namespace tickertape::actors {
namespace {

std::int64_t arrival_rank(const SequenceView& sequence) noexcept {
  return static_cast<std::int64_t>(sequence.arrival);
}

class Fcfs final : public OrderPolicy {
 public:
  std::int64_t rank(const SequenceView& sequence) const override { return arrival_rank(sequence); }
};

class Priority final : public OrderPolicy {
 public:
  explicit Priority(std::int64_t ageing_ns) : ageing_ns_(ageing_ns) {}

  std::int64_t rank(const SequenceView& sequence) const override {
    __extension__ using Wide = __int128;
    using Limits = std::numeric_limits<std::int64_t>;
    const Wide rank = Wide{sequence.priority} * ageing_ns_ + sequence.arrival_ns;
    return static_cast<std::int64_t>(std::clamp<Wide>(rank, Limits::min(), Limits::max()));
  }
  std::int32_t preemption_class(const SequenceView& sequence) const override {
    return sequence.priority;
  }

 private:
  std::int64_t ageing_ns_;
};

class Deadline final : public OrderPolicy {
 public:
  std::int64_t rank(const SequenceView& sequence) const override { return sequence.deadline_ns; }
  bool sheds_hopeless() const override { return true; }
};

class Fair final : public OrderPolicy {
 public:
  std::int64_t rank(const SequenceView& sequence) const override { return arrival_rank(sequence); }
  bool shares_by_client() const override { return true; }
};

}  // namespace

std::shared_ptr<const OrderPolicy> fcfs_order() {
  return std::make_shared<Fcfs>();
}

std::shared_ptr<const OrderPolicy> priority_order(std::int64_t ageing_ns) {
  if (ageing_ns <= 0) {
    throw Error(Errc::invalid_request,
                "priority order: the ageing time is " + std::to_string(ageing_ns) +
                    " ns; expected more than 0, the waiting time that counts as one priority");
  }
  return std::make_shared<Priority>(ageing_ns);
}

std::shared_ptr<const OrderPolicy> deadline_order() {
  return std::make_shared<Deadline>();
}

std::shared_ptr<const OrderPolicy> fair_order() {
  return std::make_shared<Fair>();
}

}  // namespace tickertape::actors
