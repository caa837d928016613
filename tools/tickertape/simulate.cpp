// simulate: the scheduler against a timing model, in virtual time.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <tickertape/errors.hpp>
#include <tickertape/model.hpp>
#include <tickertape/simulation.hpp>

#include "tools/tickertape/command.hpp"
#include "tools/tickertape/engine_flags.hpp"
#include "tools/tickertape/policy_flags.hpp"
#include "tools/tickertape/report.hpp"
#include "tools/tickertape/run_log.hpp"
#include "tools/tickertape/run_plots.hpp"
#include "tools/tickertape/simulated_flags.hpp"
#include "tools/tickertape/values.hpp"
#include "tools/tickertape/workload_flags.hpp"

namespace tickertape::program {
namespace {

constexpr std::size_t kDefaultRequests = 1000;

struct SimulateFlags {
  SimulatedFlags simulated;
  WorkloadFlags workload;
  EngineOptions options;
  std::uint32_t max_tokens = 2048;
  bool pool_is_given = false;
};

/// What a server on that device would take: 90 % of the memory, less the weights.
std::uint64_t pool_bytes(const SimulatedOptions& simulated) {
  const std::uint64_t usable = simulated.device.memory_bytes / 10 * 9;
  const std::uint64_t weights = simulated.shape.weight_bytes();
  constexpr double kGiga = 1e9;
  if (weights >= usable) {
    throw Error(
        Errc::invalid_request,
        fmt::format(
            "{} takes {:.1f} GB at {} bits a weight, more than 90 % of the {:.0f} GB "
            "of {}; see --weight-bits",
            simulated.shape.name, static_cast<double>(weights) / kGiga, simulated.shape.weight_bits,
            static_cast<double>(simulated.device.memory_bytes) / kGiga, simulated.device.name));
  }
  return usable - weights;
}

EngineOptions engine_options(const SimulateFlags& flags, const SimulatedOptions& simulated,
                             std::size_t num_requests) {
  constexpr std::uint32_t kMostQueued = 16384;
  EngineOptions options = flags.options;
  if (!flags.pool_is_given) options.kv_cache_memory = pool_bytes(simulated);
  options.max_queued_requests =
      std::max(options.max_queued_requests,
               static_cast<std::uint32_t>(std::min<std::size_t>(num_requests, kMostQueued)));
  options.max_queued_tokens = std::numeric_limits<std::int64_t>::max();
  return options;
}

double share_of(std::int64_t part_ns, std::int64_t whole_ns) {
  return whole_ns > 0 ? static_cast<double>(part_ns) / static_cast<double>(whole_ns) : 0;
}

nlohmann::ordered_json describe(const SimulateFlags& flags, const SimulatedOptions& simulated,
                                const Run& run, double wall_s) {
  nlohmann::ordered_json json = to_json(run);
  const SimulationReport& report = run.report;
  json["workload"] = flags.workload.workload;
  json["rate"] = flags.workload.rate_per_s;
  json["device"] = simulated.device.name;
  json["model_shape"] = simulated.shape.name;
  json["max_tokens"] = flags.max_tokens;
  json["max_num_seqs"] = run.num_slots;
  json["kv_pages"] = report.stats.pages_total;
  json["busy_ratio"] = share_of(report.busy_ns, report.end_ns);
  // Swaps share the link: they go one after the other.
  const std::uint32_t bytes_per_number = flags.options.kv_cache_type == KvCacheType::f32 ? 4 : 2;
  const std::uint64_t swapped_bytes =
      (report.stats.pages_swapped_out + report.stats.pages_swapped_in) * flags.options.page_size *
      simulated.shape.kv_bytes_per_token(bytes_per_number);
  const PassTimer timer(simulated.device, simulated.shape);
  const std::int64_t link_ns = timer.link_ns(swapped_bytes);
  json["swapped_bytes"] = swapped_bytes;
  json["link_busy_ratio"] = share_of(link_ns, report.end_ns);
  json["balance_tokens"] = timer.balance_tokens();
  json["wall_seconds"] = wall_s;
  return json;
}

int run_simulation(const SimulateFlags& flags) {
  const SimulatedOptions simulated = flags.simulated.options();
  check_outputs(flags.workload);
  const Workload workload = flags.workload.open();
  const std::size_t num_requests = flags.workload.count(workload, kDefaultRequests);
  const EngineOptions options = engine_options(flags, simulated, num_requests);
  Progress progress;
  SimulationOptions what;
  what.keep_rows = !flags.workload.plot.empty();
  std::uint64_t tokens = 0;
  if (progress.shown()) {
    what.on_tick = [&](const TickRecord& tick, std::span<const TickRow>) {
      constexpr double kNsPerSecond = 1e9;
      tokens += tick.num_tokens;
      progress.show(fmt::format("{:.1f} s simulated, {} tokens",
                                static_cast<double>(tick.start_ns) / kNsPerSecond, tokens));
    };
  }
  const auto begin = std::chrono::steady_clock::now();
  Run run;
  run.batching = batching_name(options.batching);
  run.num_slots = options.max_num_seqs;
  run.report = simulate(
      make_simulated_model(simulated), options,
      simulated_load(workload, num_requests, flags.max_tokens, simulated.shape.vocab_size), what);
  if (run.report.stats.recording_failed) {
    fmt::print(stderr,
               "tickertape: the recording {} is not complete: the disk is full or too slow\n",
               options.record);
  }
  const double wall_s =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();

  const nlohmann::ordered_json json = describe(flags, simulated, run, wall_s);
  const std::string subtitle = fmt::format(
      "{} on {}, {} requests of {}, {} slots, {} pages: {:.0f} tokens/s", simulated.shape.name,
      simulated.device.name, num_requests, workload.name(), options.max_num_seqs,
      run.report.stats.pages_total, json.at("tok_s").get<double>());
  if (flags.workload.json != "-") {
    fmt::print(
        "{}device busy {:.1f} %, KV waste {:.1f} %, queue p50/p99 {:.0f}/{:.0f} ms; {:.1f} s "
        "of virtual time in {:.2f} s\n",
        to_table({run}), 100 * json.at("busy_ratio").get<double>(),
        100 * json.at("kv_waste_ratio").get<double>(), json.at("queue_p50_ms").get<double>(),
        json.at("queue_p99_ms").get<double>(), json.at("seconds").get<double>(), wall_s);
  }
  const PassTimer timer(simulated.device, simulated.shape);
  write_outputs(flags.workload, json.dump(2),
                flags.workload.plot.empty()
                    ? std::string()
                    : draw_run(run, "Simulated schedule", subtitle,
                               static_cast<double>(timer.balance_tokens())));
  write_logs(flags.workload, std::span(&run, 1));
  return 0;
}

}  // namespace

void add_simulate(CLI::App& program, Action& action) {
  constexpr std::uint32_t kDefaultSeqs = 256;
  auto flags = std::make_shared<SimulateFlags>();
  flags->options.max_num_seqs = kDefaultSeqs;
  flags->options.request_timeout_s = 0;
  flags->options.overlap = false;  // In virtual time planning takes none.
  CLI::App& command = *program.add_subcommand(
      "simulate", "The real scheduler on a simulated device, in virtual time");
  add_simulated_flags(command, flags->simulated);
  add_workload_flags(command, flags->workload, kDefaultRequests);
  add_option(command, "--max-tokens", flags->max_tokens,
             "What each request declares; its answer ends where the workload says, which the "
             "engine does not know. 0 = the true length")
      ->check(in_range(0, 16777216));
  add_scheduling_flags(command, flags->options);
  add_record_flags(command, flags->options);
  CLI::Option* pool = command.get_option("--kv-cache-memory");
  pool->default_str("90 % of the device's memory, less the weights");
  command.callback([flags, pool, &action] {
    flags->simulated.check();
    flags->workload.check();
    check_scheduling_flags(flags->options);
    flags->pool_is_given = pool->count() > 0 || flags->options.num_kv_pages.has_value();
    action = [flags] { return run_simulation(*flags); };
  });
}

}  // namespace tickertape::program
