// PlannerLog: is told every call of the planner.
#pragma once
#include <cstdint>

#include "actors/plan.hpp"

namespace tickertape::actors {

/// Called on the lane, before the call that it tells (planned(): after it). Must not throw.
class PlannerLog {
 public:
  virtual ~PlannerLog() = default;
  virtual void added(const NewRequest& request, std::int64_t now_ns) = 0;
  virtual void committed(const Demand& demand) = 0;
  virtual void applied(const ReaderEvent& event) = 0;
  virtual void planned(std::int64_t now_ns, const Plan& plan) = 0;
  /// Nothing more comes; returns when all is kept.
  virtual void finish() = 0;

  /// On any thread: it could not keep everything; what it has kept.
  [[nodiscard]] virtual bool failed() const noexcept = 0;
  [[nodiscard]] virtual std::uint64_t num_bytes() const noexcept = 0;
};

}  // namespace tickertape::actors
