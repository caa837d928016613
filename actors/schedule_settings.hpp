// ScheduleSettings: everything that planning depends on, with the policies by name.
#pragma once
#include <cstdint>

#include <tickertape/options.hpp>

#include "actors/planner_options.hpp"

namespace tickertape::actors {

struct ScheduleSettings {
  PlannerOptions planner;  ///< Its policies are not looked at.
  Admission admission = Admission::predicted;
  double admission_quantile = 0.9;
  double admission_buffer = 0.05;
  Scheduling scheduling = Scheduling::fcfs;
  std::int64_t priority_ageing_ns = 30'000'000'000;

  /// `planner` with the policies that are named.
  [[nodiscard]] PlannerOptions build() const;
};

}  // namespace tickertape::actors
