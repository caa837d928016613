// WorkloadFlags: which requests a benchmark or a simulation runs.
#include "tools/tickertape/workload_flags.hpp"

#include <fmt/core.h>

#include "tools/tickertape/plot.hpp"
#include "tools/tickertape/values.hpp"

namespace tickertape::program {

Workload WorkloadFlags::open() const {
  WorkloadOptions options;
  options.seed = seed;
  options.rate_per_s = rate_per_s;
  return parse_workload(workload, options);
}

void WorkloadFlags::check() const {
  if (!workload.ends_with(".jsonl"))
    as_wrong_words("--workload", [&] { static_cast<void>(open()); });
}

std::size_t WorkloadFlags::count(const Workload& opened, std::size_t otherwise) const {
  if (num_requests) return *num_requests;
  return opened.natural_size() > 0 ? opened.natural_size() : otherwise;
}

void add_workload_flags(CLI::App& command, WorkloadFlags& flags, std::size_t otherwise) {
  add_option(command, "--workload", flags.workload,
             "uniform:IN,OUT, outputs:A,B,... (31x20 repeats), mixed, sharegpt-like, alpaca-like, "
             "prefix:SHARED,OWN,OUT, long-and-short, or a .jsonl file of OpenAI bodies")
      ->required();
  add_option(command, "--requests", flags.num_requests, "How many requests")
      ->check(in_range(1, 1e9))
      ->default_str(fmt::format("the workload's own number, else {}", otherwise));
  add_option(command, "--rate", flags.rate_per_s,
             "Arrivals per second (a Poisson process); 0 = all at once, or as the file says")
      ->check(in_range(0, 1e9));
  add_option(command, "--workload-seed", flags.seed, "Draws lengths, arrivals and token ids")
      ->check(whole_number());
  add_option(command, "--json", flags.json, "Write the figures to this file; - is standard output");
  add_option(command, "--plot", flags.plot, "Draw the run into this file (SVG)");
  add_option(command, "--request-log", flags.request_log,
             "Write what became of each request to this file, a JSON object a line");
  add_option(command, "--tick-log", flags.tick_log,
             "Write each pass to this file, a JSON object a line");
}

void check_outputs(const WorkloadFlags& flags) {
  if (flags.json != "-" && !flags.json.empty()) check_writable(flags.json);
  for (const std::string* file : {&flags.plot, &flags.request_log, &flags.tick_log}) {
    if (!file->empty()) check_writable(*file);
  }
}

void write_outputs(const WorkloadFlags& flags, const std::string& json, const std::string& svg) {
  if (flags.json == "-") {
    fmt::print("{}\n", json);
  } else if (!flags.json.empty()) {
    write_file(flags.json, json + "\n");
  }
  if (!flags.plot.empty()) write_file(flags.plot, svg);
}

}  // namespace tickertape::program
