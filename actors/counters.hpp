// Counters: what the engine counts, written by many threads.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>

#include <tickertape/finish.hpp>
#include <tickertape/stats.hpp>

namespace tickertape::actors {

/// Shared by the lane, the submitters and the streams; outlives each of them. Any thread.
class Counters {
 public:
  using Count = std::atomic<std::uint64_t>;

  // The queue, as admission at the door sees it: two atomics decide without waiting for the lane.
  Count queued_requests{0};
  Count queued_tokens{0};
  Count pending_texts{0};  ///< Requests whose text is being read; each choice counts.

  Count submitted{0};
  Count refused{0};
  Count prompt_tokens{0};
  Count generation_tokens{0};
  Count wasted_tokens{0};
  std::array<Count, kNumFinishReasons> finished{};
  std::array<Count, kNumIdleCauses> device_idle_ns{};  ///< Between two passes, by IdleCause.

  /// Smoothed time between two ends, for Retry-After.
  std::atomic<std::int64_t> end_interval_ns{0};

  /// One request has ended. The lane calls it before the gauges show that the request is gone, so
  /// that none is ever missing from both. Lane only.
  void count_end(FinishReason reason, std::int64_t now_ns) noexcept {
    finished[static_cast<std::size_t>(reason)].fetch_add(1);
    if (last_end_ns_ >= 0) {
      // An exponential mean over about eight ends.
      const std::int64_t mean_ns = end_interval_ns.load();
      const std::int64_t last_ns = now_ns - last_end_ns_;
      end_interval_ns.store(mean_ns == 0 ? last_ns : mean_ns + (last_ns - mean_ns) / 8);
    }
    last_end_ns_ = now_ns;
  }

 private:
  std::int64_t last_end_ns_ = -1;
};

}  // namespace tickertape::actors
