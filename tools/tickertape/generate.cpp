// generate: one answer to a prompt, streamed to standard output.
#include <fmt/core.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "tools/tickertape/command.hpp"
#include "tools/tickertape/engine_flags.hpp"
#include "tools/tickertape/read_file.hpp"
#include "tools/tickertape/run_request.hpp"
#include "tools/tickertape/values.hpp"

namespace tickertape::program {
namespace {

using Json = nlohmann::ordered_json;

struct GenerateFlags {
  EngineFlags engine;
  std::optional<std::string> prompt;
  std::optional<std::string> prompt_file;
  std::optional<std::string> ids;
  bool chat = false;
  bool json = false;
  Request request;
};

Json logprob_json(const Token& token) {
  Json top = Json::array();
  for (const TokenLogprob& entry : token.top_logprobs) {
    top.push_back(Json{{"token", entry.token}, {"logprob", entry.logprob}});
  }
  return Json{{"token", token.id}, {"logprob", token.logprob.value_or(0)}, {"top_logprobs", top}};
}

Json usage_json(const Usage& usage) {
  return Json{{"prompt_tokens", usage.prompt_tokens},
              {"completion_tokens", usage.completion_tokens},
              {"total_tokens", usage.prompt_tokens + usage.completion_tokens},
              {"prompt_tokens_details", {{"cached_tokens", usage.cached_tokens}}}};
}

Json timings_json(const Timings& timings) {
  return Json{{"queued_ms", timings.queued_ms},
              {"prefill_ms", timings.prefill_ms},
              {"decode_ms", timings.decode_ms},
              {"preemptions", timings.preemptions},
              {"swapped_pages", timings.swapped_pages},
              {"cached_tokens", timings.cached_tokens},
              {"ticks", timings.ticks}};
}

Json answer_json(const Answer& answer, bool logprobs) {
  Json ids = Json::array();
  std::string text;
  for (const Token& token : answer.tokens) {
    ids.push_back(token.id);
    text += token.text;
  }
  Json json{{"prompt_ids", answer.accepted.prompt_ids},
            {"ids", std::move(ids)},
            {"text", std::move(text)},
            {"finish_reason", to_string(answer.finish.reason)},
            {"seed", answer.accepted.seed},
            {"usage", usage_json(answer.finish.usage)},
            {"timings", timings_json(answer.finish.timings)}};
  if (logprobs) {
    Json list = Json::array();
    for (const Token& token : answer.tokens) list.push_back(logprob_json(token));
    json["logprobs"] = std::move(list);
  }
  return json;
}

void print_token(const Token& token) {
  std::fwrite(token.text.data(), 1, token.text.size(), stdout);
  std::fflush(stdout);
}

void fill_prompt(GenerateFlags& flags) {
  Request& request = flags.request;
  if (flags.ids) {
    request.prompt_ids = parse_ids("--ids", *flags.ids);
    return;
  }
  std::string text = flags.prompt ? *flags.prompt : read_file(*flags.prompt_file);
  if (flags.chat) {
    request.messages.push_back(ChatMessage{"user", std::move(text)});
  } else {
    request.prompt = std::move(text);
  }
}

int generate(GenerateFlags& flags) {
  fill_prompt(flags);
  const bool logprobs = flags.request.sampling.logprobs >= 0;
  Engine engine(open_model(flags.engine), flags.engine.options);
  if (flags.json) {
    const Answer answer = run_request(engine, std::move(flags.request));
    const std::string line =
        answer_json(answer, logprobs).dump(-1, ' ', false, Json::error_handler_t::replace);
    fmt::print("{}\n", line);
  } else {
    static_cast<void>(run_request(engine, std::move(flags.request), print_token));
    fmt::print("\n");
  }
  return 0;
}

void add_sampling_flags(CLI::App& command, Request& request) {
  SamplingParams& sampling = request.sampling;
  add_option(command, "--max-tokens", request.max_tokens, "Tokens to generate at most")
      ->check(in_range(1, 4294967295.0));
  add_option(command, "--temperature", sampling.temperature, "0 takes the most likely token")
      ->check(in_range(0, 2));
  add_option(command, "--top-p", sampling.top_p,
             "Only the most likely tokens with this much probability together; 1 = off")
      ->check(in_range(0, 1));
  add_option(command, "--top-k", sampling.top_k, "Only so many most likely tokens; 0 = off")
      ->check(in_range(-1, 2147483647.0));
  add_option(command, "--min-p", sampling.min_p,
             "Only tokens with this fraction of the largest probability; 0 = off")
      ->check(in_range(0, 1));
  add_option(command, "--seed", sampling.seed, "Of the random numbers")
      ->check(whole_number())
      ->default_str("random");
  add_switch(command, "--ignore-eos", sampling.ignore_eos, "Go on after end tokens");
  command
      .add_option("--logprobs", sampling.logprobs,
                  "With --json: each token's log-probability and so many of the most likely ones")
      ->envname(environment_name("--logprobs"))
      ->check(in_range(0, 20));
}

}  // namespace

void add_generate(CLI::App& program, Action& action) {
  auto flags = std::make_shared<GenerateFlags>();
  CLI::App& command = *program.add_subcommand("generate", "One answer, streamed to the terminal");
  add_engine_flags(command, flags->engine);
  CLI::Option_group& prompt = *command.add_option_group("Prompt", "Exactly one of these");
  add_option(prompt, "--prompt", flags->prompt, "The prompt; control tokens in it are recognised");
  add_option(prompt, "--prompt-file", flags->prompt_file, "The prompt's file; - is standard input");
  CLI::Option* ids = add_option(prompt, "--ids", flags->ids, "The prompt as token ids: \"1 2 3\"")
                         ->check(id_list());
  prompt.require_option(1);
  add_switch(command, "--chat", flags->chat, "Take the prompt as a user's message")->excludes(ids);
  add_switch(command, "--json", flags->json,
             "Print one object at the end: ids, text, usage, timings");
  add_sampling_flags(command, flags->request);
  command.callback([flags, &action] {
    check_engine_flags(flags->engine);
    action = [flags] { return generate(*flags); };
  });
}

}  // namespace tickertape::program
