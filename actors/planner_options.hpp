// PlannerOptions: what planning is told once.
#pragma once
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include <tickertape/backend.hpp>
#include <tickertape/kv_pool.hpp>
#include <tickertape/options.hpp>
#include <tickertape/policy.hpp>

#include "actors/length_profile.hpp"

namespace tickertape::actors {

/// One plan that runs and one that the device finds when that is done: more would only make rows
/// that come to nothing, and arrivals that wait.
inline constexpr std::uint32_t kMaxPlansUnderWay = 2;

struct PlannerOptions {
  KvPoolOptions pool;               ///< Of the first layer group, which sees everything.
  std::vector<LayerGroup> windows;  ///< The others. REQUIRES: each has a window and num_pages.
  std::uint32_t max_num_seqs = 64;
  std::uint32_t max_num_batched_tokens = 512;
  std::uint32_t max_model_len = 0;  ///< 0 = what the pool holds.
  std::int64_t park_grace_ns = 0;
  std::int64_t stall_timeout_ns = std::numeric_limits<std::int64_t>::max();

  Batching batching = Batching::chunked;
  std::uint32_t static_batch_size = 0;  ///< 0 = max_num_seqs.
  std::int64_t static_batch_wait_ns = 50'000'000;
  std::uint32_t prefill_chunk = 0;  ///< Most prompt tokens of one sequence per tick; 0 = what fits.
  std::int64_t itl_target_ns = 0;   ///< A pass with decodes shall take no longer; 0 = no target.
  std::int64_t max_pass_ns = 500'000'000;  ///< No pass shall, as far as chunks decide it.

  PreemptionMethod preemption_method = PreemptionMethod::automatic;
  std::uint32_t num_host_pages = 0;   ///< Of each layer group.
  std::int64_t swap_ns_per_page = 0;  ///< To the host or back, until it was measured; 0 = unknown.
  std::uint32_t max_class_preemptions = 8;  ///< Beyond, no class preempts a sequence any more.
  bool prefix_caching = true;
  bool overlap = false;  ///< A plan may be made while another one is under way.

  std::shared_ptr<const SharedLengths> lengths;        ///< Learned before; null = nothing.
  std::shared_ptr<const AdmissionPolicy> admission;    ///< Null = prompt_only.
  std::shared_ptr<const PreemptionPolicy> preemption;  ///< Null = youngest first.
  std::shared_ptr<const OrderPolicy> order;            ///< Null = first come, first served.

  [[nodiscard]] bool is_static() const noexcept {
    return batching == Batching::static_batch || batching == Batching::static_sorted;
  }
  [[nodiscard]] std::uint32_t most_plans_under_way() const noexcept {
    return overlap ? kMaxPlansUnderWay : 1;
  }
};

}  // namespace tickertape::actors
