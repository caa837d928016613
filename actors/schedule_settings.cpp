// ScheduleSettings: the policies by name.
#include "actors/schedule_settings.hpp"

#include "actors/admission.hpp"
#include "actors/order.hpp"

namespace tickertape::actors {
namespace {

std::shared_ptr<const AdmissionPolicy> admission_of(const ScheduleSettings& settings) {
  switch (settings.admission) {
    case Admission::predicted:
      return predicted_admission(settings.admission_quantile, settings.admission_buffer);
    case Admission::reserve:
      return reserve_admission();
    case Admission::prompt_only:
      return prompt_only_admission();
    case Admission::max_len:
      return max_len_admission();
  }
  return nullptr;
}

std::shared_ptr<const OrderPolicy> order_of(const ScheduleSettings& settings) {
  switch (settings.scheduling) {
    case Scheduling::fcfs:
      return fcfs_order();
    case Scheduling::priority:
      return priority_order(settings.priority_ageing_ns);
    case Scheduling::deadline:
      return deadline_order();
    case Scheduling::fair:
      return fair_order();
  }
  return nullptr;
}

}  // namespace

PlannerOptions ScheduleSettings::build() const {
  PlannerOptions options = planner;
  options.admission = admission_of(*this);
  options.order = order_of(*this);
  options.preemption = nullptr;
  return options;
}

}  // namespace tickertape::actors
