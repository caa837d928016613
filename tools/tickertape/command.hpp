// Command: how a subcommand of the program is declared and run.
#pragma once
#include <CLI/CLI.hpp>
#include <functional>

namespace tickertape::program {

/// What the chosen command does; its result is the program's exit code. It may throw
/// tickertape::Error or std::exception, which the program reports in one line (exit code 1).
using Action = std::function<int()>;

/// Each adds one subcommand, which sets `action` when the command line chooses it.
void add_serve(CLI::App& program, Action& action);
void add_chat(CLI::App& program, Action& action);
void add_generate(CLI::App& program, Action& action);
void add_score(CLI::App& program, Action& action);
void add_tokenize(CLI::App& program, Action& action);
void add_detokenize(CLI::App& program, Action& action);
void add_inspect(CLI::App& program, Action& action);
void add_render(CLI::App& program, Action& action);
void add_replay(CLI::App& program, Action& action);
void add_simulate(CLI::App& program, Action& action);
void add_bench(CLI::App& program, Action& action);
void add_bench_throughput(CLI::App& bench, Action& action);

}  // namespace tickertape::program
