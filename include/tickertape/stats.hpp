// EngineStats: a snapshot of the engine's counters and gauges.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <tickertape/token_stream.hpp>

namespace tickertape {

/// Why a device had nothing to do between two passes.
enum class IdleCause : std::uint8_t {
  no_work,    ///< Nobody had anything to compute.
  planning,   ///< The host was at work: taking in a pass, deciding the next.
  room,       ///< Pages or a slot had to be taken from somebody: the passes under way came first.
  host_state  ///< The next rows are made of what the host saw of the last ones.
};
inline constexpr std::size_t kNumIdleCauses = 4;

[[nodiscard]] constexpr std::string_view to_string(IdleCause cause) noexcept {
  switch (cause) {
    case IdleCause::no_work:
      return "no_work";
    case IdleCause::planning:
      return "planning";
    case IdleCause::room:
      return "room";
    case IdleCause::host_state:
      return "host_state";
  }
  return "";
}

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
  std::uint64_t held_places = 0;       ///< Token places in held pages.
  std::uint64_t held_tokens = 0;       ///< Those of them that hold a token.
  std::uint64_t host_pages_total = 0;  ///< Of the swap pool.
  std::uint64_t host_pages_free = 0;
  std::uint64_t queued_tokens = 0;  ///< Prompt tokens that wait.
  std::uint32_t max_model_len = 0;  ///< In force.
  bool lane_alive = true;           ///< Idle, or a sign of life within 5 s.
  bool draining = false;
  bool recording_failed = false;  ///< The disk was full or too slow: the recording ends before.

  // Counters.
  std::uint64_t ticks = 0;
  std::uint64_t overlapped_ticks = 0;  ///< Those planned while another one ran.
  std::uint64_t prompt_tokens = 0;
  std::uint64_t generation_tokens = 0;
  std::uint64_t wasted_tokens = 0;      ///< Computed and dropped: cancelled, too late.
  std::uint64_t recomputed_tokens = 0;  ///< Prefilled again after a preemption.
  std::uint64_t preemptions = 0;        ///< Of both kinds:
  std::uint64_t recompute_preemptions = 0;
  std::uint64_t swap_preemptions = 0;
  std::uint64_t pages_swapped_out = 0;
  std::uint64_t pages_swapped_in = 0;
  std::uint64_t prefix_queries = 0;         ///< Prompt tokens looked up in the prefix cache,
  std::uint64_t prefix_hits = 0;            ///< and those found.
  std::uint64_t slot_ticks = 0;             ///< Slots that passes had to offer, summed over ticks,
  std::uint64_t useful_slot_ticks = 0;      ///< and those that worked for a sequence.
  std::uint64_t computed_tokens = 0;        ///< Tokens of rows, filler aside.
  std::uint64_t prompt_padding_tokens = 0;  ///< Filler of static batches: behind short prompts,
  std::uint64_t finished_row_tokens = 0;    ///< and of sequences that have ended.
  std::uint64_t dropped_row_tokens = 0;     ///< Of rows planned ahead for what had ended by then.
  std::uint64_t submitted = 0;              ///< Accepted requests.
  std::uint64_t refused = 0;
  std::uint64_t recorded_bytes = 0;  ///< Of the recording of the schedule.
  std::array<std::uint64_t, kNumIdleCauses> device_idle_ns{};  ///< Between passes, by IdleCause.
  std::array<std::uint64_t, kNumFinishReasons> finished{};     ///< By FinishReason.
};

}  // namespace tickertape
