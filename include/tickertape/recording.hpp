// Recording: what an engine planned and why, and the same plans made again.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include <tickertape/options.hpp>

namespace tickertape {

/// Settings that take the place of the recorded ones.
struct ReplayOptions {
  std::optional<Batching> batching;
  std::optional<std::uint32_t> static_batch_size;
  std::optional<double> static_batch_wait_ms;
  std::optional<std::uint32_t> prefill_chunk;
  std::optional<double> itl_target_ms;
  std::optional<Admission> admission;
  std::optional<double> admission_quantile;
  std::optional<double> admission_buffer;
  std::optional<PreemptionMethod> preemption;
  std::optional<Scheduling> scheduling;
  std::optional<bool> prefix_caching;
};

/// How far a recording goes.
enum class RecordingEnd : std::uint8_t {
  closed,     ///< To the end of the engine.
  limit,      ///< To its limit in bytes.
  cut,        ///< To the end of the file, which has no end mark.
  damaged,    ///< To a block whose checksum is wrong.
  difference  ///< It was not read beyond the first plan that differs.
};

struct ReplayReport {
  std::uint64_t num_bytes = 0;  ///< Of the file.
  std::uint64_t num_read = 0;   ///< Bytes of good blocks.
  std::uint64_t num_requests = 0;
  std::uint64_t num_calls = 0;  ///< Of the planner, of all kinds.
  std::uint64_t num_plans = 0;  ///< That were made again.
  std::uint64_t num_ticks = 0;  ///< Those with rows.
  std::uint64_t num_tokens = 0;
  std::uint64_t num_preemptions = 0;
  std::int64_t duration_ns = 0;  ///< From the first call to the last plan.
  RecordingEnd end = RecordingEnd::cut;
  /// The first plan that is not as recorded. What follows in the recording came from that plan, so
  /// nothing is compared beyond it.
  struct Difference {
    std::uint64_t tick = 0;
    std::int64_t at_ns = 0;  ///< From the first call.
    std::string what;        ///< As "rows 3, now 4".
  };
  std::optional<Difference> difference;
};

/// Makes the recorded calls of the planner again and compares the plans. Throws Error when `file`
/// cannot be read, is no recording, is of another version, or its first block is not good.
[[nodiscard]] ReplayReport replay(const std::filesystem::path& file,
                                  const ReplayOptions& options = {});

}  // namespace tickertape
