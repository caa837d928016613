// PolicyFlags: how passes are filled, as every command that runs an engine takes it.
#pragma once
#include <CLI/CLI.hpp>
#include <map>
#include <string>
#include <tickertape/options.hpp>
#include <vector>

namespace tickertape::program {

/// Batching modes by the names that users give.
[[nodiscard]] const std::map<std::string, Batching>& batching_names();
[[nodiscard]] std::vector<std::string> batching_words();
[[nodiscard]] std::string batching_name(Batching batching);

/// Batching, chunks, admission, preemption, order and the prefix cache.
void add_policy_flags(CLI::App& command, EngineOptions& options);

/// What a replay cannot change: the file of the length profile, and whether passes are planned
/// ahead.
void add_live_flags(CLI::App& command, EngineOptions& options);

/// Whether and where the schedule is recorded.
void add_record_flags(CLI::App& command, EngineOptions& options);

}  // namespace tickertape::program
