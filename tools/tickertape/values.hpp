// Values: what flags take beyond plain numbers, and how each flag is added.
#pragma once
#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <tickertape/errors.hpp>
#include <tickertape/tokenizer.hpp>
#include <vector>

namespace tickertape::program {

/// "TICKERTAPE_MAX_NUM_SEQS" for "--max-num-seqs".
[[nodiscard]] std::string environment_name(std::string_view flag);

/// Adds an option that can also be set by its environment variable; help shows the present value
/// of `target` as the default.
template <class T>
CLI::Option* add_option(CLI::App& command, const std::string& flag, T& target,
                        const std::string& help) {
  return command.add_option(flag, target, help)
      ->envname(environment_name(flag))
      ->capture_default_str();
}

/// The same for a switch.
CLI::Option* add_switch(CLI::App& command, const std::string& flag, bool& target,
                        const std::string& help);

/// The same for a number of bytes: digits with an optional unit (B, KB, KiB, MB, MiB, GB, GiB).
CLI::Option* add_size(CLI::App& command, const std::string& flag, std::uint64_t& target,
                      const std::string& help);

/// Accepts a number from `least` to `most`; unlike CLI::Range not NaN.
[[nodiscard]] CLI::Validator in_range(double least, double most);
[[nodiscard]] CLI::Validator power_of_two(std::uint32_t most);
/// Accepts every whole number of 64 bits, with or without a sign.
[[nodiscard]] CLI::Validator whole_number();
/// Accepts what parse_ids() takes.
[[nodiscard]] CLI::Validator id_list();

/// Throws CLI::ValidationError naming `flag`.
[[nodiscard]] std::uint64_t parse_size(const std::string& flag, const std::string& text);

/// Calls `check`; an Error that it throws is one of the call's words: CLI::ValidationError of
/// `flag`.
template <class Check>
void as_wrong_words(const std::string& flag, Check check) {
  try {
    check();
  } catch (const Error& error) {
    throw CLI::ValidationError(flag, error.what());
  }
}

/// Token ids separated by white space or commas. Throws Error naming `where`.
[[nodiscard]] std::vector<TokenId> parse_ids(const std::string& where, std::string_view text);

}  // namespace tickertape::program
