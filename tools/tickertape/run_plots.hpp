// Charts of runs: what the program draws with --plot.
#pragma once
#include <string>
#include <vector>

#include "tools/tickertape/plot.hpp"
#include "tools/tickertape/report.hpp"

namespace tickertape::program {

/// Which slot worked for whom, over the first `most_ticks` ticks; needs the rows.
[[nodiscard]] SlotChart slot_chart(const Run& run, std::size_t most_ticks);
/// Pages held and cached, and sequences running and waiting, over time.
[[nodiscard]] LineChart pages_over_time(const Run& run);
[[nodiscard]] LineChart sequences_over_time(const Run& run);
/// A point for each pass; `balance` (0 = not known) is where arithmetic begins to bind.
[[nodiscard]] LineChart pass_times(const Run& run, double balance);
/// Share of requests, or of gaps, below each time; a line for each run.
using Spans = std::vector<double> (*)(const Run&);
[[nodiscard]] LineChart distribution(const std::vector<Run>& runs, const std::string& title,
                                     const std::string& x_title, Spans spans);

/// One run in detail.
[[nodiscard]] std::string draw_run(const Run& run, const std::string& title,
                                   const std::string& subtitle, double balance);
/// Several side by side, with the staircase of each.
[[nodiscard]] std::string draw_comparison(const std::vector<Run>& runs, const std::string& title,
                                          const std::string& subtitle);

}  // namespace tickertape::program
