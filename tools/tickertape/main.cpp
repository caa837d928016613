// The program: chooses the command and turns every failure into one line and an exit code.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <tickertape/errors.hpp>
#include <utility>
#include <vector>

#include "tools/tickertape/command.hpp"
#include "tools/tickertape/config_file.hpp"

namespace tickertape::program {
namespace {

constexpr int kFailed = 1;
constexpr int kWrongCall = 2;

int fail(int code, std::string message) {
  std::replace(message.begin(), message.end(), '\n', ' ');
  fmt::print(stderr, "tickertape: {}\n", message);
  return code;
}

/// The message of an error, with the field that it is about.
std::string describe(const ErrorInfo& info) {
  const bool named = info.param.empty() || info.message.find(info.param) != std::string::npos;
  return named ? info.message : info.param + ": " + info.message;
}

int parse(CLI::App& program, std::vector<std::string> words) {
  try {
    words = add_config(std::move(words), program);
    std::reverse(words.begin(), words.end());  // As CLI11 takes them.
    program.parse(words);
    // Asked for here and not by CLI11, so that an unknown word is named.
    if (program.get_subcommands().empty()) throw CLI::RequiredError("A command");
    return 0;
  } catch (const CLI::ParseError& error) {
    const auto chosen = program.get_subcommands();
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) {
      return program.exit(error);  // --help and --version.
    }
    const std::string command = chosen.empty() ? "" : chosen.front()->get_name() + " ";
    fail(kWrongCall, fmt::format("{} (see tickertape {}--help)", error.what(), command));
    return kWrongCall;
  } catch (const Error& error) {
    return fail(kWrongCall, describe(error.info()));  // Of the config file.
  }
}

int run(int argc, char** argv) {
  CLI::App program("Continuous-batching LLM inference: a server, and tools around one model file.",
                   "tickertape");
  program.set_version_flag("--version", "tickertape " TICKERTAPE_VERSION);
  program.footer(
      "Exit codes: 0 done, 1 failed, 2 the words of the call are wrong.\n"
      "`tickertape COMMAND --help` shows every flag with its default, unit and environment "
      "variable.\n"
      "--config FILE (or TICKERTAPE_CONFIG) reads flags from a TOML file: a key for each flag, at "
      "the top or in a table named after the command. Flags go before the environment, that before "
      "the file.");
  Action action;
  add_serve(program, action);
  add_chat(program, action);
  add_generate(program, action);
  add_score(program, action);
  add_tokenize(program, action);
  add_detokenize(program, action);
  add_inspect(program, action);
  add_render(program, action);
  add_bench(program, action);
  add_simulate(program, action);
  add_replay(program, action);
  if (const int code = parse(program, {argv + std::min(argc, 1), argv + argc})) return code;
  if (!action) return 0;  // --help or --version has been printed.
  try {
    return action();
  } catch (const Error& error) {
    return fail(kFailed, describe(error.info()));
  } catch (const std::exception& error) {
    return fail(kFailed, error.what());
  }
}

}  // namespace
}  // namespace tickertape::program

int main(int argc, char** argv) {
  return tickertape::program::run(argc, argv);
}
