// WorkloadFlags: which requests a benchmark or a simulation runs.
#pragma once
#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <tickertape/workload.hpp>

namespace tickertape::program {

struct WorkloadFlags {
  std::string workload;
  std::optional<std::uint32_t> num_requests;
  double rate_per_s = 0;
  std::uint64_t seed = 1;
  std::string json;
  std::string plot;
  std::string request_log;
  std::string tick_log;

  /// Throws Error naming what is wrong with the workload.
  [[nodiscard]] Workload open() const;
  /// Throws CLI::ParseError when the name means nothing; files are opened later.
  void check() const;
  /// What is asked for, else the workload's own number, else `otherwise`.
  [[nodiscard]] std::size_t count(const Workload& workload, std::size_t otherwise) const;
};

/// Also --json, --plot and the logs, which all commands with a workload have.
void add_workload_flags(CLI::App& command, WorkloadFlags& flags, std::size_t otherwise);

/// Throws Error when a file to be written cannot be: before the work, not after.
void check_outputs(const WorkloadFlags& flags);

/// Writes what --json and --plot ask for.
void write_outputs(const WorkloadFlags& flags, const std::string& json, const std::string& svg);

}  // namespace tickertape::program
