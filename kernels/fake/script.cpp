// parse_script: JSON to a Script, with the name of the field at fault.
#include <simdjson.h>

#include <cmath>
#include <limits>
#include <tickertape/errors.hpp>
#include <tickertape/scripted.hpp>
#include <utility>

namespace tickertape {
namespace {

using simdjson::dom::element;

[[noreturn]] void fail(const std::string& field, const std::string& what) {
  throw Error(ErrorInfo{Errc::invalid_request, "script: " + field + " " + what, field, 0});
}

[[nodiscard]] std::string join(const std::string& parent, std::string_view key) {
  return parent.empty() ? std::string(key) : parent + "." + std::string(key);
}

template <class Value>
[[nodiscard]] Value read(element json, const std::string& field, const char* what) {
  Value value;
  if (json.get(value) != simdjson::SUCCESS) fail(field, std::string("must be ") + what);
  return value;
}

[[nodiscard]] bool read_bool(element json, const std::string& field) {
  return read<bool>(json, field, "true or false");
}

[[nodiscard]] std::string read_text(element json, const std::string& field) {
  return std::string(read<std::string_view>(json, field, "a string"));
}

[[nodiscard]] std::uint32_t read_count(element json, const std::string& field) {
  constexpr const char* kWhat = "a whole number below 2^31";
  const auto value = read<std::uint64_t>(json, field, kWhat);
  if (value > std::numeric_limits<std::int32_t>::max())
    fail(field, std::string("must be ") + kWhat);
  return static_cast<std::uint32_t>(value);
}

[[nodiscard]] double read_duration_ms(element json, const std::string& field) {
  constexpr double kMax = 1e9;
  constexpr const char* kWhat = "a number from 0 to 1e9";
  const auto value = read<double>(json, field, kWhat);
  if (!(value >= 0 && value <= kMax)) fail(field, std::string("must be ") + kWhat);
  return value;
}

/// Calls visit(element, field) for each entry.
template <class Visit>
void for_each_entry(element json, const std::string& field, Visit visit) {
  std::size_t index = 0;
  for (const element entry : read<simdjson::dom::array>(json, field, "an array")) {
    visit(entry, field + "[" + std::to_string(index++) + "]");
  }
}

[[nodiscard]] int hex_digit(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

[[nodiscard]] std::string read_hex(element json, const std::string& field) {
  std::string bytes;
  int high = -1;
  for (const char c : read<std::string_view>(json, field, "a string of hexadecimal digits")) {
    if (c == ' ' && high < 0) continue;
    const int digit = hex_digit(c);
    if (digit < 0) fail(field, "must be pairs of hexadecimal digits");
    if (high < 0) {
      high = digit;
    } else {
      bytes.push_back(static_cast<char>(16 * high + digit));
      high = -1;
    }
  }
  if (high >= 0) fail(field, "must be pairs of hexadecimal digits");
  return bytes;
}

[[nodiscard]] std::string read_piece(element json, const std::string& field) {
  std::string bytes;
  std::size_t num_forms = 0;
  for (const auto [key, value] : read<simdjson::dom::object>(json, field, "an object")) {
    const std::string name = join(field, key);
    if (key == "hex") {
      bytes = read_hex(value, name);
    } else if (key == "text") {
      bytes = read_text(value, name);
    } else {
      fail(name, "is not known");
    }
    ++num_forms;
  }
  if (num_forms != 1) fail(field, "must have either hex or text");
  if (bytes.empty()) fail(field, "must not be empty");
  return bytes;
}

void read_logprobs(element json, const std::string& field, std::vector<float>& logprobs) {
  for_each_entry(json, field, [&](element entry, const std::string& name) {
    constexpr double kMin = -9999;
    constexpr const char* kWhat = "a number from -9999 to 0";
    const auto value = read<double>(entry, name, kWhat);
    if (!(value >= kMin && value <= 0)) fail(name, std::string("must be ") + kWhat);
    logprobs.push_back(static_cast<float>(value));
  });
}

/// Reads a field that is part of the answer; false for other fields.
[[nodiscard]] bool read_answer(std::string_view key, element value, const std::string& name,
                               ScriptRule& rule) {
  if (key == "text") {
    rule.text = read_text(value, name);
  } else if (key == "tokens") {
    for_each_entry(value, name, [&](element entry, const std::string& entry_name) {
      rule.tokens.push_back(static_cast<TokenId>(read_count(entry, entry_name)));
    });
  } else if (key == "pieces") {
    for_each_entry(value, name, [&](element entry, const std::string& entry_name) {
      rule.pieces.push_back(read_count(entry, entry_name));
    });
  } else {
    return false;
  }
  return true;
}

void read_rule_field(std::string_view key, element value, const std::string& name,
                     ScriptRule& rule) {
  if (key == "match") {
    rule.match = read_text(value, name);
  } else if (key == "choice") {
    rule.choice = read_count(value, name);
  } else if (key == "repeat") {
    rule.repeat = read_bool(value, name);
  } else if (key == "end") {
    rule.end = read_bool(value, name);
  } else if (key == "nan_at") {
    rule.nan_at = read_count(value, name);
  } else if (key == "fault_at") {
    rule.fault_at = read_count(value, name);
  } else if (key == "block_at") {
    rule.block_at = read_count(value, name);
  } else if (key == "logprobs") {
    read_logprobs(value, name, rule.logprobs);
  } else {
    fail(name, "is not known");
  }
}

[[nodiscard]] ScriptRule read_rule(element json, const std::string& field) {
  ScriptRule rule;
  std::size_t num_answers = 0;
  for (const auto [key, value] : read<simdjson::dom::object>(json, field, "an object")) {
    const std::string name = join(field, key);
    if (read_answer(key, value, name, rule)) {
      ++num_answers;
    } else {
      read_rule_field(key, value, name, rule);
    }
  }
  if (num_answers > 1) fail(field, "must have at most one of tokens, pieces and text");
  return rule;
}

[[nodiscard]] Script read_script(element json) {
  Script script;
  for (const auto [key, value] : read<simdjson::dom::object>(json, "script", "an object")) {
    const std::string name(key);
    if (key == "pieces") {
      for_each_entry(value, name, [&](element entry, const std::string& entry_name) {
        script.pieces.push_back(read_piece(entry, entry_name));
      });
    } else if (key == "tick_ms") {
      script.tick_ms = read_duration_ms(value, name);
    } else if (key == "prefill_ms_per_token") {
      script.prefill_ms_per_token = read_duration_ms(value, name);
    } else if (key == "max_model_len") {
      script.max_model_len = read_count(value, name);
    } else if (key == "rules") {
      for_each_entry(value, name, [&](element entry, const std::string& entry_name) {
        script.rules.push_back(read_rule(entry, entry_name));
      });
    } else if (key == "default") {
      script.fallback = read_rule(value, name);
    } else {
      fail(name, "is not known");
    }
  }
  return script;
}

}  // namespace

Script parse_script(std::string_view json) {
  simdjson::dom::parser parser;
  element root;
  const simdjson::padded_string padded(json);
  if (const auto error = parser.parse(padded).get(root); error != simdjson::SUCCESS) {
    fail("script", std::string("is not JSON: ") + simdjson::error_message(error));
  }
  return read_script(root);
}

Script load_script(const std::filesystem::path& path) {
  simdjson::padded_string json;
  if (const auto error = simdjson::padded_string::load(path.string()).get(json);
      error != simdjson::SUCCESS) {
    fail("script", path.string() + " cannot be read");
  }
  return parse_script(std::string_view(json.data(), json.size()));
}

}  // namespace tickertape
