// generate: one answer to a prompt, streamed to standard output.
#include <fmt/core.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "tools/tickertape/answer_json.hpp"
#include "tools/tickertape/command.hpp"
#include "tools/tickertape/engine_flags.hpp"
#include "tools/tickertape/read_file.hpp"
#include "tools/tickertape/run_request.hpp"
#include "tools/tickertape/sampling_flags.hpp"
#include "tools/tickertape/values.hpp"

namespace tickertape::program {
namespace {

struct GenerateFlags {
  EngineFlags engine;
  std::optional<std::string> prompt;
  std::optional<std::string> prompt_file;
  std::optional<std::string> ids;
  bool chat = false;
  bool json = false;
  Request request;
};

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
  const Request request = flags.request;
  Engine engine(open_model(flags.engine), flags.engine.options);
  if (flags.json) {
    const Answer answer = run_request(engine, request);
    fmt::print("{}\n", one_line(answer_json(answer, request.sampling.logprobs >= 0,
                                            request.prompt_logprobs >= 0)));
  } else if (request.n == 1) {
    static_cast<void>(run_request(engine, request, print_token));
    fmt::print("\n");
  } else {
    const Answer answer = run_request(engine, request);
    for (std::uint32_t i = 0; i < request.n; ++i) fmt::print("[{}] {}\n", i, text_of(answer, i));
  }
  return 0;
}

void add_output_flags(CLI::App& command, GenerateFlags& flags) {
  Request& request = flags.request;
  add_option(command, "--n", request.n,
             "Answers to the prompt; several are printed at the end, each with its number")
      ->check(in_range(1, 65536));
  add_switch(command, "--json", flags.json,
             "Print one object at the end: ids, text, usage, timings");
  command
      .add_option("--logprobs", request.sampling.logprobs,
                  "With --json: each token's log-probability and so many of the most likely ones")
      ->envname(environment_name("--logprobs"))
      ->check(in_range(0, 20));
  command
      .add_option("--prompt-logprobs", request.prompt_logprobs,
                  "With --json: the same for the prompt's tokens but the first")
      ->envname(environment_name("--prompt-logprobs"))
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
  add_output_flags(command, *flags);
  add_sampling_flags(command, flags->request);
  command.callback([flags, &action] {
    check_engine_flags(flags->engine);
    action = [flags] { return generate(*flags); };
  });
}

}  // namespace tickertape::program
