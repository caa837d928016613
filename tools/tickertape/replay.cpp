// replay: a recorded schedule, planned again.
#include <fmt/core.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <tickertape/errors.hpp>
#include <tickertape/recording.hpp>

#include "tools/tickertape/command.hpp"
#include "tools/tickertape/policy_flags.hpp"
#include "tools/tickertape/values.hpp"

namespace tickertape::program {
namespace {

constexpr double kNsPerSecond = 1e9;

struct ReplayFlags {
  std::string file;
  bool check = false;
  bool json = false;
  EngineOptions options;
  ReplayOptions changes;
};

std::string end_name(RecordingEnd end) {
  switch (end) {
    case RecordingEnd::closed:
      return "closed";
    case RecordingEnd::limit:
      return "limit";
    case RecordingEnd::cut:
      return "cut";
    case RecordingEnd::damaged:
      return "damaged";
    case RecordingEnd::difference:
      return "difference";
  }
  return {};
}

/// Those of the policy flags that were given.
ReplayOptions changes_of(const CLI::App& command, const EngineOptions& options) {
  ReplayOptions changes;
  const auto take = [&command](const char* flag, auto& target, auto value) {
    if (command.get_option(flag)->count() > 0) target = value;
  };
  take("--batching", changes.batching, options.batching);
  take("--static-batch-size", changes.static_batch_size, options.static_batch_size);
  take("--static-batch-wait-ms", changes.static_batch_wait_ms, options.static_batch_wait_ms);
  take("--prefill-chunk", changes.prefill_chunk, options.prefill_chunk);
  take("--itl-target-ms", changes.itl_target_ms, options.itl_target_ms);
  take("--admission", changes.admission, options.admission);
  take("--admission-quantile", changes.admission_quantile, options.admission_quantile);
  take("--admission-buffer", changes.admission_buffer, options.admission_buffer);
  take("--preemption", changes.preemption, options.preemption);
  take("--scheduling", changes.scheduling, options.scheduling);
  take("--no-prefix-caching", changes.prefix_caching, options.prefix_caching);
  return changes;
}

nlohmann::ordered_json to_json(const ReplayReport& report) {
  nlohmann::ordered_json json;
  json["bytes"] = report.num_bytes;
  json["bytes_read"] = report.num_read;
  json["end"] = end_name(report.end);
  json["requests"] = report.num_requests;
  json["calls"] = report.num_calls;
  json["plans"] = report.num_plans;
  json["ticks"] = report.num_ticks;
  json["tokens"] = report.num_tokens;
  json["preemptions"] = report.num_preemptions;
  json["seconds"] = static_cast<double>(report.duration_ns) / kNsPerSecond;
  if (report.difference) {
    json["difference"] = {{"tick", report.difference->tick},
                          {"seconds", static_cast<double>(report.difference->at_ns) / kNsPerSecond},
                          {"what", report.difference->what}};
  }
  return json;
}

std::string difference_text(const ReplayReport& report) {
  return fmt::format("tick {} at {:.6f} s differs: {}", report.difference->tick,
                     static_cast<double>(report.difference->at_ns) / kNsPerSecond,
                     report.difference->what);
}

void print(const ReplayReport& report) {
  fmt::print("{} requests, {} plans, {} ticks, {} tokens, {} preemptions in {:.3f} s\n",
             report.num_requests, report.num_plans, report.num_ticks, report.num_tokens,
             report.num_preemptions, static_cast<double>(report.duration_ns) / kNsPerSecond);
  fmt::print("{} of {} bytes read, end: {}\n", report.num_read, report.num_bytes,
             end_name(report.end));
  fmt::print("{}\n", report.difference ? difference_text(report) : "every plan is as recorded");
}

int run_replay(const ReplayFlags& flags) {
  const ReplayReport report = replay(flags.file, flags.changes);
  if (flags.json) {
    fmt::print("{}\n", to_json(report).dump());
  } else {
    print(report);
  }
  if (!flags.check) return 0;
  if (report.difference) throw Error(Errc::internal, difference_text(report));
  if (report.end == RecordingEnd::cut || report.end == RecordingEnd::damaged) {
    throw Error(Errc::invalid_request,
                fmt::format("{} is {} at byte {} of {}", flags.file,
                            report.end == RecordingEnd::cut ? "cut off" : "damaged",
                            report.num_read, report.num_bytes));
  }
  return 0;
}

}  // namespace

void add_replay(CLI::App& program, Action& action) {
  auto flags = std::make_shared<ReplayFlags>();
  CLI::App& command = *program.add_subcommand(
      "replay", "A recorded schedule, planned again; with policy flags, where they differ first");
  command.add_option("RECORDING", flags->file, "A file of --record")->required();
  add_switch(command, "--check", flags->check,
             "Fail unless every plan is as recorded and the file is whole");
  add_switch(command, "--json", flags->json, "Print one object");
  add_policy_flags(command, flags->options);
  command.callback([flags, &command, &action] {
    if (command.get_option("--swap-space")->count() > 0) {
      throw CLI::ValidationError("--swap-space", "cannot be changed in a replay");
    }
    flags->changes = changes_of(command, flags->options);
    action = [flags] { return run_replay(*flags); };
  });
}

}  // namespace tickertape::program
