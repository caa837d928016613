// Config file: flags that stand in a TOML file.
#pragma once
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace tickertape::program {

/// `words` (without the program's name) with what `--config FILE`, or TICKERTAPE_CONFIG, adds to
/// them: each key is a flag's name without its dashes, at the top for every command that has the
/// flag or in a table named after a command. The command line goes before the environment, and that
/// before the file. `--config` itself is taken out.
///
/// Throws Error naming file, line and key when the file cannot be read, is no TOML, or has a key
/// that no command knows; CLI::ParseError for `--config` without a name.
[[nodiscard]] std::vector<std::string> add_config(std::vector<std::string> words,
                                                  const CLI::App& program);

}  // namespace tickertape::program
