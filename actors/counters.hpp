// Counters: what the engine counts, written by many threads.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>

#include <tickertape/finish.hpp>

namespace tickertape::actors {

/// Shared by the lane, the submitters and the streams; outlives each of them. Any thread.
struct Counters {
  using Count = std::atomic<std::uint64_t>;

  // The queue, as admission at the door sees it: two atomics decide without waiting for the lane.
  Count queued_requests{0};
  Count queued_tokens{0};

  Count submitted{0};
  Count refused{0};
  Count prompt_tokens{0};
  Count generation_tokens{0};
  Count wasted_tokens{0};
  std::array<Count, kNumFinishReasons> finished{};

  /// Smoothed time between two ends, for Retry-After.
  std::atomic<std::int64_t> end_interval_ns{0};
};

}  // namespace tickertape::actors
