// PolicyFlags: how passes are filled.
#include "tools/tickertape/policy_flags.hpp"

#include <vector>

#include "tools/tickertape/values.hpp"

namespace tickertape::program {
namespace {

/// A flag that takes one of some names.
template <class Enum>
void add_choice(CLI::App& command, const std::string& flag, Enum& target,
                const std::map<std::string, Enum>& names, const std::string& help) {
  std::vector<std::string> words;
  std::string now;
  for (const auto& [name, value] : names) {
    words.push_back(name);
    if (value == target) now = name;
  }
  command
      .add_option_function<std::string>(
          flag, [&target, &names](const std::string& name) { target = names.at(name); }, help)
      ->envname(environment_name(flag))
      ->check(CLI::IsMember(words))
      ->default_str(now);
}

const std::map<std::string, Admission>& admission_names() {
  static const std::map<std::string, Admission> names{{"predicted", Admission::predicted},
                                                      {"reserve", Admission::reserve},
                                                      {"prompt_only", Admission::prompt_only},
                                                      {"max_len", Admission::max_len}};
  return names;
}

const std::map<std::string, PreemptionMethod>& preemption_names() {
  static const std::map<std::string, PreemptionMethod> names{
      {"auto", PreemptionMethod::automatic},
      {"recompute", PreemptionMethod::recompute},
      {"swap", PreemptionMethod::swap}};
  return names;
}

const std::map<std::string, Scheduling>& scheduling_names() {
  static const std::map<std::string, Scheduling> names{{"fcfs", Scheduling::fcfs},
                                                       {"priority", Scheduling::priority},
                                                       {"deadline", Scheduling::deadline},
                                                       {"fair", Scheduling::fair}};
  return names;
}

void add_batching_flags(CLI::App& command, EngineOptions& options) {
  add_choice(command, "--batching", options.batching, batching_names(),
             "How sequences come together in passes");
  add_option(command, "--static-batch-size", options.static_batch_size,
             "Sequences of a static batch; 0 = --max-num-seqs")
      ->check(in_range(0, 65536));
  add_option(command, "--static-batch-wait-ms", options.static_batch_wait_ms,
             "A static batch starts with fewer when its oldest has waited so long, in milliseconds")
      ->check(in_range(0, 1e9));
  add_option(command, "--prefill-chunk", options.prefill_chunk,
             "Most prompt tokens of one request per pass; 0 = what fits");
  add_option(command, "--itl-target-ms", options.itl_target_ms,
             "Chunks are cut so that a pass takes no longer, in milliseconds; 0 = off")
      ->check(in_range(0, 1e9));
}

void add_memory_flags(CLI::App& command, EngineOptions& options) {
  add_choice(command, "--admission", options.admission, admission_names(),
             "When a waiting request may start");
  add_option(command, "--admission-quantile", options.admission_quantile,
             "predicted: probability that the expected peak of memory holds")
      ->check(in_range(1e-6, 1 - 1e-6));
  add_option(command, "--admission-buffer", options.admission_buffer,
             "predicted: part of the KV pool that it leaves free")
      ->check(in_range(0, 0.99));
  add_choice(command, "--preemption", options.preemption, preemption_names(),
             "What becomes of the keys and values of a request that must make room");
  command
      .add_option_function<std::string>(
          "--swap-space",
          [&options](const std::string& text) {
            options.swap_space = parse_size("--swap-space", text);
          },
          "Host memory for requests that were swapped out")
      ->envname(environment_name("--swap-space"))
      ->default_str("1GiB, or what there is");
}

}  // namespace

const std::map<std::string, Batching>& batching_names() {
  static const std::map<std::string, Batching> names{{"chunked", Batching::chunked},
                                                     {"iteration", Batching::iteration},
                                                     {"static", Batching::static_batch},
                                                     {"static_sorted", Batching::static_sorted}};
  return names;
}

std::vector<std::string> batching_words() {
  std::vector<std::string> words;
  for (const auto& [name, value] : batching_names()) words.push_back(name);
  return words;
}

std::string batching_name(Batching batching) {
  for (const auto& [name, value] : batching_names()) {
    if (value == batching) return name;
  }
  return {};
}

void add_policy_flags(CLI::App& command, EngineOptions& options) {
  add_batching_flags(command, options);
  add_memory_flags(command, options);
  add_choice(command, "--scheduling", options.scheduling, scheduling_names(),
             "Order of the waiting requests");
  command
      .add_flag_function(
          "--no-prefix-caching", [&options](std::int64_t) { options.prefix_caching = false; },
          "Compute equal beginnings of prompts again each time")
      ->envname(environment_name("--no-prefix-caching"));
}

void add_live_flags(CLI::App& command, EngineOptions& options) {
  add_option(command, "--length-profile", options.length_profile,
             "A file for what predicted admission learns of the lengths of answers: read at the "
             "beginning, written at the end");
  command
      .add_flag("--overlap,!--no-overlap", options.overlap,
                "Plan the next pass while one runs, on a device that works by itself")
      ->envname(environment_name("--overlap"))
      ->default_str(options.overlap ? "true" : "false");
}

void add_record_flags(CLI::App& command, EngineOptions& options) {
  add_option(command, "--record", options.record,
             "A file for the recording of the schedule, for tickertape replay");
  add_size(command, "--record-limit", options.record_limit,
           "Most bytes of it; the recording ends there");
}

}  // namespace tickertape::program
