// bench: the benchmarks, each a command of its own.
#include "tools/tickertape/command.hpp"

namespace tickertape::program {

void add_bench(CLI::App& program, Action& action) {
  CLI::App& command = *program.add_subcommand("bench", "Benchmarks: bench throughput");
  command.require_subcommand(1);
  add_bench_throughput(command, action);
}

}  // namespace tickertape::program
