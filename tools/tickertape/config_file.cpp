// Config file: flags that stand in a TOML file.
#include "tools/tickertape/config_file.hpp"

#include <fmt/core.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <tickertape/errors.hpp>
#include <utility>

#include "tools/tickertape/values.hpp"

namespace tickertape::program {
namespace {

constexpr std::string_view kFlag = "--config";

[[noreturn]] void fail(const std::string& file, std::uint32_t line, const std::string& what) {
  throw Error(Errc::invalid_request, fmt::format("{}:{}: {}", file, line, what));
}

/// Takes `--config FILE` or `--config=FILE` out of the words.
std::string take_config(std::vector<std::string>& words) {
  for (auto word = words.begin(); word != words.end(); ++word) {
    if (*word == "--") break;
    if (*word == kFlag) {
      if (std::next(word) == words.end()) throw CLI::ArgumentMismatch("--config needs a file");
      std::string file = *std::next(word);
      words.erase(word, word + 2);
      return file;
    }
    if (word->starts_with(std::string(kFlag) + "=")) {
      std::string file = word->substr(kFlag.size() + 1);
      words.erase(word);
      return file;
    }
  }
  const char* file = std::getenv("TICKERTAPE_CONFIG");
  return file == nullptr ? std::string() : std::string(file);
}

const CLI::App* command_named(const CLI::App& program, std::string_view name) {
  for (const CLI::App* command : program.get_subcommands(nullptr)) {
    if (command->get_name() == name) return command;
  }
  return nullptr;
}

/// The innermost one that the words name: `bench throughput` is a command of a command.
const CLI::App* chosen_command(const CLI::App& program, const std::vector<std::string>& words) {
  const CLI::App* chosen = nullptr;
  for (const std::string& word : words) {
    if (word.starts_with('-')) continue;
    const CLI::App* next = command_named(chosen == nullptr ? program : *chosen, word);
    if (next == nullptr) break;
    chosen = next;
  }
  return chosen;
}

/// Groups of options are nameless commands.
bool has_flag(const CLI::App& command, const std::string& flag) {
  if (command.get_option_no_throw(flag) != nullptr) return true;
  const auto inner = command.get_subcommands(nullptr);
  return std::any_of(inner.begin(), inner.end(),
                     [&](const CLI::App* one) { return has_flag(*one, flag); });
}

bool is_known(const CLI::App& program, const std::string& flag) {
  const auto commands = program.get_subcommands(nullptr);
  return std::any_of(commands.begin(), commands.end(),
                     [&](const CLI::App* command) { return has_flag(*command, flag); });
}

bool is_given(const std::vector<std::string>& words, const std::string& flag) {
  const bool on_line = std::any_of(words.begin(), words.end(), [&](const std::string& word) {
    return word == flag || word.starts_with(flag + "=");
  });
  return on_line || std::getenv(environment_name(flag).c_str()) != nullptr;
}

/// Adds `flag` with a scalar's value.
void add_value(std::vector<std::string>& words, const std::string& file, const std::string& flag,
               const toml::node& value) {
  const std::uint32_t line = value.source().begin.line;
  if (const auto text = value.value_exact<std::string>()) {
    words.push_back(flag + "=" + *text);
  } else if (const auto on = value.value_exact<bool>()) {
    if (*on) words.push_back(flag);
  } else if (const auto integer = value.value_exact<std::int64_t>()) {
    words.push_back(fmt::format("{}={}", flag, *integer));
  } else if (const auto number = value.value_exact<double>()) {
    words.push_back(fmt::format("{}={}", flag, *number));
  } else {
    fail(file, line, flag.substr(2) + " must be a string, a number, true, false, or a list");
  }
}

struct ConfigReader {
  const CLI::App& program;
  const CLI::App* chosen;
  const std::string& file;
  const std::vector<std::string>& given;
  std::vector<std::string> added;

  void read(const toml::table& table, const CLI::App* only) {
    for (const auto& [key, value] : table) {
      const std::uint32_t line = key.source().begin.line;
      std::string flag = "--" + std::string(key.str());
      std::replace(flag.begin(), flag.end(), '_', '-');
      if (const toml::table* inner = value.as_table()) {
        const CLI::App* command = command_named(program, key.str());
        if (only != nullptr || command == nullptr) {
          fail(file, line, fmt::format("{} is not a command", key.str()));
        }
        read(*inner, command);
        continue;
      }
      const bool known = only != nullptr ? has_flag(*only, flag) : is_known(program, flag);
      if (!known) fail(file, line, fmt::format("{} is not a flag", key.str()));
      const bool meant =
          chosen != nullptr && (only == nullptr || only == chosen || only == chosen->get_parent());
      if (!meant || !has_flag(*chosen, flag) || is_given(given, flag)) continue;
      add_flag(flag, value);
    }
  }

  void add_flag(const std::string& flag, const toml::node& value) {
    if (const toml::array* list = value.as_array()) {
      for (const toml::node& entry : *list) add_value(added, file, flag, entry);
    } else {
      add_value(added, file, flag, value);
    }
  }
};

}  // namespace

std::vector<std::string> add_config(std::vector<std::string> words, const CLI::App& program) {
  const std::string file = take_config(words);
  if (file.empty()) return words;
  toml::table table;
  try {
    table = toml::parse_file(file);
  } catch (const toml::parse_error& error) {
    fail(file, error.source().begin.line, std::string(error.description()));
  }
  ConfigReader reader{program, chosen_command(program, words), file, words, {}};
  reader.read(table, nullptr);
  words.insert(words.end(), reader.added.begin(), reader.added.end());
  return words;
}

}  // namespace tickertape::program
