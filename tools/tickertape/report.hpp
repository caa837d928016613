// Report: the figures of a run of many requests, as text and as JSON.
#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <tickertape/simulation.hpp>
#include <vector>

namespace tickertape::program {

/// A run under one batching mode, measured or simulated.
struct Run {
  std::string batching;
  std::uint32_t num_slots = 0;  ///< max_num_seqs.
  SimulationReport report;
};

/// The value below which `share` of the values lie (nearest rank); 0 when there are none.
[[nodiscard]] double percentile(std::vector<double> values, double share);

/// A duration of each request that has both ends, in milliseconds.
[[nodiscard]] std::vector<double> latencies_ms(const Run& run);  ///< Arrival to end.
[[nodiscard]] std::vector<double> ttfts_ms(const Run& run);      ///< Arrival to first token.
[[nodiscard]] std::vector<double> queues_ms(const Run& run);     ///< Arrival to first admission.
[[nodiscard]] std::vector<double> held_ms(const Run& run);       ///< Last token computed to end.
[[nodiscard]] std::vector<double> gaps_ms(const Run& run);       ///< Between tokens.

/// The fields that interface and documents name:
///   tok_s                  generated tokens per second from the first arrival to the last end
///   slot_utilisation       rows of requests that had not ended, over slots of all ticks
///   padding_ratio          tokens computed for nobody, over all tokens computed
///   kv_waste_ratio         token places held without a token, over those held; mean of the ticks,
///                          weighted by their time
///   kv_waste_last_page_ratio  of it, those in the last page of each sequence
///   unused_pages_ratio     pages that nobody held, over all, while somebody waited
/// and counts and percentiles in milliseconds.
[[nodiscard]] nlohmann::ordered_json to_json(const Run& run);

/// A table with a line for each run.
[[nodiscard]] std::string to_table(const std::vector<Run>& runs);

/// Progress of long work on a terminal's standard error; silent elsewhere.
class Progress {
 public:
  Progress();
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  [[nodiscard]] bool shown() const noexcept { return terminal_; }
  /// Replaces the line, a few times a second at most.
  void show(const std::string& text);

 private:
  bool terminal_;
  std::int64_t last_ns_ = 0;
  std::size_t width_ = 0;
};

}  // namespace tickertape::program
