// EngineFlags: their flags, and the model that they name.
#include "tools/tickertape/engine_flags.hpp"

#include <fmt/core.h>

#include <map>
#include <tickertape/scripted.hpp>
#include <utility>

#include "tools/tickertape/policy_flags.hpp"
#include "tools/tickertape/read_file.hpp"
#include "tools/tickertape/values.hpp"

namespace tickertape::program {
namespace {

/// An option whose absence means "chosen by the engine", with words for what that is.
void add_optional(CLI::App& command, const std::string& flag, std::optional<std::uint32_t>& target,
                  const std::string& help, const std::string& otherwise) {
  add_option(command, flag, target, help)->check(in_range(1, 4294967295.0))->default_str(otherwise);
}

void add_kv_flags(CLI::App& command, EngineOptions& options) {
  add_size(command, "--kv-cache-memory", options.kv_cache_memory, "Memory for keys and values");
  add_optional(command, "--num-kv-pages", options.num_kv_pages,
               "Pages of the KV pool, instead of --kv-cache-memory", "what that memory holds");
  add_option(command, "--page-size", options.page_size, "Tokens per page of the KV pool")
      ->check(power_of_two(1024));
  const std::map<std::string, KvCacheType> types{
      {"f16", KvCacheType::f16}, {"f32", KvCacheType::f32}, {"bf16", KvCacheType::bf16}};
  const auto set = [&options, types](const std::string& name) {
    options.kv_cache_type = types.at(name);
  };
  command.add_option_function<std::string>("--kv-cache-type", set, "How keys and values are kept")
      ->envname(environment_name("--kv-cache-type"))
      ->check(CLI::IsMember({"f16", "f32", "bf16"}))
      ->default_str("f16");
}

}  // namespace

CLI::Option* add_model(CLI::App& command, std::string& model) {
  return command.add_option("MODEL", model, "The model: a .gguf file")->required();
}

void add_engine_flags(CLI::App& command, EngineFlags& flags) {
  EngineOptions& options = flags.options;
  add_model(command, flags.model)->required(false);
  add_option(command, "--backend", flags.backend,
             "What runs the passes; auto takes the best that is there")
      ->check(CLI::IsMember({"auto", "cpu", "scripted", "simulated"}));
  add_option(command, "--script", flags.script, "What the scripted backend answers (a JSON file)");
  add_simulated_flags(command, flags.simulated);
  add_option(command, "--chat-template", flags.chat_template,
             "A Jinja template's file, instead of the model's own");
  add_option(command, "--threads", options.threads,
             "Compute threads, the engine's own included; 0 = the cores we may use")
      ->check(in_range(0, 1024));
  add_option(command, "--compute-nice", options.compute_nice,
             "Niceness of the compute threads, so that others stay prompt")
      ->check(in_range(0, 19));
  add_option(command, "--cpu-isa", options.cpu_isa, "Instruction set of the CPU backend")
      ->check(CLI::IsMember({"auto", "reference", "scalar", "avx2"}));
  add_scheduling_flags(command, options);
}

void add_scheduling_flags(CLI::App& command, EngineOptions& options) {
  add_optional(command, "--max-model-len", options.max_model_len,
               "Most tokens of one request, prompt and answer together",
               "min of the model's and the pool");
  add_kv_flags(command, options);
  add_option(command, "--max-num-seqs", options.max_num_seqs, "Sequences that run at the same time")
      ->check(in_range(1, 65536));
  add_optional(command, "--max-num-batched-tokens", options.max_num_batched_tokens,
               "Most tokens of one pass", "max of 512 and max-num-seqs + page-size");
  add_policy_flags(command, options);
  add_live_flags(command, options);
}

void add_queue_flags(CLI::App& command, EngineFlags& flags) {
  EngineOptions& options = flags.options;
  add_option(command, "--max-queued-requests", options.max_queued_requests,
             "Waiting requests beyond which new ones are refused (429)");
  add_option(command, "--max-queued-tokens", options.max_queued_tokens,
             "Prompt tokens that may wait")
      ->check(in_range(0, 1e15));
  add_option(command, "--request-timeout", options.request_timeout_s,
             "Longest life of a request, in seconds; 0 = no limit")
      ->check(in_range(0, 1e9));
  add_option(command, "--stall-timeout", options.stall_timeout_s,
             "A reader that allows no token for so long is ended, in seconds")
      ->check(in_range(0, 1e9));
}

void check_engine_flags(const EngineFlags& flags) {
  const bool scripted = flags.backend == "scripted";
  if (scripted == flags.script.empty()) {
    throw CLI::ValidationError("--script", "goes with --backend scripted, and that with --script");
  }
  const bool simulated = flags.backend == "simulated";
  if (flags.model.empty() && !scripted && !simulated) throw CLI::RequiredError("MODEL");
  if (!flags.model.empty() && simulated) {
    throw CLI::ValidationError("MODEL", "does not go with --backend simulated; see --model-shape");
  }
  if (simulated) flags.simulated.check();
  check_scheduling_flags(flags.options);
}

void check_scheduling_flags(const EngineOptions& options) {
  const std::uint32_t least = options.max_num_seqs + options.page_size;
  if (options.max_num_batched_tokens && *options.max_num_batched_tokens < least) {
    throw CLI::ValidationError(
        "--max-num-batched-tokens",
        fmt::format("{} is less than --max-num-seqs + --page-size, which is {}",
                    *options.max_num_batched_tokens, least));
  }
}

std::shared_ptr<const Model> open_model(const EngineFlags& flags) {
  std::shared_ptr<const Model> model;
  ModelOptions options;
  if (flags.backend == "simulated") return make_simulated_model(flags.simulated.options());
  if (!flags.chat_template.empty()) options.chat_template = read_file(flags.chat_template);
  if (!flags.model.empty()) model = load_model(flags.model, options);
  if (flags.backend != "scripted") return model;
  return make_scripted_model(load_script(flags.script), std::move(model));
}

}  // namespace tickertape::program
