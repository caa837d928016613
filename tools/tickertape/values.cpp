// Values: parsing of sizes, ranges and token ids.
#include "tools/tickertape/values.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <tickertape/errors.hpp>
#include <utility>

namespace tickertape::program {
namespace {

struct Unit {
  std::string_view name;
  std::uint64_t bytes;
};

constexpr std::array<Unit, 8> kUnits{{{"", 1},
                                      {"b", 1},
                                      {"kb", 1'000},
                                      {"kib", 1ULL << 10},
                                      {"mb", 1'000'000},
                                      {"mib", 1ULL << 20},
                                      {"gb", 1'000'000'000},
                                      {"gib", 1ULL << 30}}};

std::string size_text(std::uint64_t bytes) {
  for (const auto& [name, unit] :
       {std::pair("GiB", 1ULL << 30), std::pair("MiB", 1ULL << 20), std::pair("KiB", 1ULL << 10)}) {
    if (bytes != 0 && bytes % unit == 0) return fmt::format("{}{}", bytes / unit, name);
  }
  return fmt::format("{}B", bytes);
}

bool is_separator(char c) {
  return c == ' ' || c == ',' || c == '\n' || c == '\t' || c == '\r';
}

/// Appends the ids of `text`; gives what is wrong with it, or nothing.
std::string read_ids(std::string_view text, std::vector<TokenId>& ids) {
  std::size_t place = 0;
  while (place < text.size()) {
    if (is_separator(text[place])) {
      ++place;
      continue;
    }
    std::size_t end = place;
    while (end < text.size() && !is_separator(text[end])) ++end;
    TokenId id = 0;
    const auto [stopped, error] = std::from_chars(text.data() + place, text.data() + end, id);
    if (error != std::errc() || stopped != text.data() + end || id < 0) {
      constexpr std::size_t kShown = 32;
      return fmt::format("'{}' is not a token id",
                         text.substr(place, std::min(end - place, kShown)));
    }
    ids.push_back(id);
    place = end;
  }
  return {};
}

}  // namespace

std::string environment_name(std::string_view flag) {
  std::string name = "TICKERTAPE_";
  for (const char c : flag.substr(flag.find_first_not_of('-'))) {
    name += c == '-' ? '_' : static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  }
  return name;
}

CLI::Option* add_switch(CLI::App& command, const std::string& flag, bool& target,
                        const std::string& help) {
  return command.add_flag(flag, target, help)->envname(environment_name(flag));
}

CLI::Option* add_size(CLI::App& command, const std::string& flag, std::uint64_t& target,
                      const std::string& help) {
  const auto set = [&target, flag](const std::string& text) { target = parse_size(flag, text); };
  return command.add_option_function<std::string>(flag, set, help)
      ->envname(environment_name(flag))
      ->type_name("SIZE")
      ->default_str(size_text(target));
}

CLI::Validator in_range(double least, double most) {
  const auto check = [least, most](std::string& text) -> std::string {
    double value = 0;
    if (CLI::detail::lexical_cast(text, value) && value >= least && value <= most) return {};
    return fmt::format("{} is not a number from {} to {}", text, least, most);
  };
  return CLI::Validator(check, fmt::format("{} to {}", least, most));
}

CLI::Validator power_of_two(std::uint32_t most) {
  const auto check = [most](std::string& text) -> std::string {
    std::uint32_t value = 0;
    const bool number = CLI::detail::lexical_cast(text, value);
    if (number && value > 0 && value <= most && (value & (value - 1)) == 0) return {};
    return fmt::format("{} is not a power of two from 1 to {}", text, most);
  };
  return CLI::Validator(check, fmt::format("power of two, 1 to {}", most));
}

CLI::Validator whole_number() {
  const auto check = [](std::string& text) -> std::string {
    const char* const end = text.data() + text.size();
    std::uint64_t natural = 0;
    std::int64_t integer = 0;
    const auto [natural_end, natural_error] = std::from_chars(text.data(), end, natural);
    const auto [integer_end, integer_error] = std::from_chars(text.data(), end, integer);
    if (natural_error == std::errc() && natural_end == end) return {};
    if (integer_error == std::errc() && integer_end == end) return {};
    return fmt::format("{} is not a whole number of 64 bits", text);
  };
  return CLI::Validator(check, "64 bits");
}

CLI::Validator id_list() {
  const auto check = [](std::string& text) {
    std::vector<TokenId> ids;
    return read_ids(text, ids);
  };
  return CLI::Validator(check, "IDS");
}

std::uint64_t parse_size(const std::string& flag, const std::string& text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  std::string unit(end, text.data() + text.size());
  for (char& c : unit) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  if (error == std::errc()) {
    for (const Unit& known : kUnits) {
      if (unit != known.name) continue;
      if (number > std::numeric_limits<std::uint64_t>::max() / known.bytes) break;
      return number * known.bytes;
    }
  }
  throw CLI::ValidationError(flag, fmt::format("{} is not a size such as 512MiB or 1GiB", text));
}

std::vector<TokenId> parse_ids(const std::string& where, std::string_view text) {
  std::vector<TokenId> ids;
  const std::string wrong = read_ids(text, ids);
  if (!wrong.empty()) throw Error(Errc::invalid_request, where + ": " + wrong);
  return ids;
}

}  // namespace tickertape::program
