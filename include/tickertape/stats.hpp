// EngineStats: a snapshot of the engine's counters and gauges.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

#include <tickertape/token_stream.hpp>

namespace tickertape {

/// Gauges are taken from the real tables at the end of the last tick; counters only grow.
struct EngineStats {
  // Gauges.
  std::uint64_t num_running = 0;  ///< Sequences with pages, parked ones included.
  std::uint64_t num_waiting = 0;  ///< Submitted and not running; preempted ones included.
  std::uint64_t num_parked = 0;   ///< Running ones without credit.
  std::uint64_t pages_total = 0;
  std::uint64_t pages_free = 0;
  std::uint64_t pages_cached = 0;
  std::uint64_t pages_held = 0;
  std::uint64_t held_places = 0;    ///< Token places in held pages.
  std::uint64_t held_tokens = 0;    ///< Those of them that hold a token.
  std::uint64_t queued_tokens = 0;  ///< Prompt tokens that wait.
  std::uint32_t max_model_len = 0;  ///< In force.
  bool lane_alive = true;           ///< Idle, or a sign of life within 5 s.
  bool draining = false;

  // Counters.
  std::uint64_t ticks = 0;
  std::uint64_t prompt_tokens = 0;
  std::uint64_t generation_tokens = 0;
  std::uint64_t wasted_tokens = 0;      ///< Computed and dropped: cancelled, too late.
  std::uint64_t recomputed_tokens = 0;  ///< Prefilled again after a preemption.
  std::uint64_t preemptions = 0;
  std::uint64_t submitted = 0;  ///< Accepted requests.
  std::uint64_t refused = 0;
  std::array<std::uint64_t, kNumFinishReasons> finished{};  ///< By FinishReason.
};

}  // namespace tickertape
