// EngineFlags: the model and the settings of the engine, as every command that runs it takes them.
#pragma once
#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <tickertape/model.hpp>
#include <tickertape/options.hpp>
#include <vector>

#include "tools/tickertape/simulated_flags.hpp"

namespace tickertape::program {

struct EngineFlags {
  std::string model;
  std::string backend = "auto";
  std::string script;
  std::string chat_template;
  SimulatedFlags simulated;
  EngineOptions options;
};

/// The model's file alone, as the first word.
CLI::Option* add_model(CLI::App& command, std::string& model);

/// The model, the backend and everything that shapes a pass. The scripted and the simulated backend
/// need no model.
void add_engine_flags(CLI::App& command, EngineFlags& flags);

/// Of those: what the scheduler and its pool of pages go by.
void add_scheduling_flags(CLI::App& command, EngineOptions& options);

/// Throws CLI::ParseError when they contradict each other. Once all flags are parsed.
void check_scheduling_flags(const EngineOptions& options);

/// Throws CLI::ParseError when the flags contradict each other. Once all flags are parsed.
void check_engine_flags(const EngineFlags& flags);

/// What only a server has use for: the bounds of the waiting line and the limits in time.
void add_queue_flags(CLI::App& command, EngineFlags& flags);

/// Opens what the flags say. Throws Error.
[[nodiscard]] std::shared_ptr<const Model> open_model(const EngineFlags& flags);

}  // namespace tickertape::program
