// RunLog: every request and every pass of a run, a JSON object a line.
#pragma once
#include <span>
#include <string>

#include "tools/tickertape/report.hpp"
#include "tools/tickertape/workload_flags.hpp"

namespace tickertape::program {

/// A line for each request, by arrival. Times are milliseconds: arrival_ms from the beginning,
/// queue_ms, ttft_ms and latency_ms from the arrival, longest_gap_ms between two tokens of one
/// choice. The forecasts are those of RequestRecord, 0 where nothing was simulated. What never
/// happened is null.
[[nodiscard]] std::string request_lines(const Run& run);

/// A line for each pass: when, how long, its tokens, and who ran and waited with how many pages
/// when it was planned.
[[nodiscard]] std::string tick_lines(const Run& run);

/// Writes what --request-log and --tick-log ask for: the lines of one run after the other.
void write_logs(const WorkloadFlags& flags, std::span<const Run> runs);

}  // namespace tickertape::program
