// The fields of a request that hold lists: token ids, stop strings and biases.
#include "net/list_fields.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <utility>

namespace tickertape::net {
namespace {

using simdjson::SUCCESS;
using simdjson::dom::array;
using simdjson::dom::element;
using simdjson::dom::object;

constexpr std::size_t kMaxStops = 64;
constexpr std::size_t kMaxStopBytes = 1024;
constexpr double kMaxBias = 100;

FieldError bad_ids(std::string_view name, std::uint32_t vocab_size) {
  return {name, fmt::format("{} must hold token ids: integers from 0 to {}", name,
                            std::int64_t{vocab_size} - 1)};
}

/// A key such as "464"; signs, leading zeros and anything else are refused, so that no two keys
/// mean the same token.
std::optional<TokenId> read_id_key(std::string_view key, std::uint32_t vocab_size) {
  TokenId id = -1;
  const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), id);
  if (error != std::errc() || end != key.data() + key.size()) return std::nullopt;
  if (id < 0 || static_cast<std::uint32_t>(id) >= vocab_size) return std::nullopt;
  if (key.front() == '-' || (key.front() == '0' && key.size() > 1)) return std::nullopt;
  return id;
}

Refusal append_stop(const element& value, std::vector<std::string>& out) {
  std::string_view text;
  if (value.get(text) != SUCCESS) {
    return FieldError("stop", "stop must be a string or a list of strings");
  }
  if (text.empty() || text.size() > kMaxStopBytes) {
    return FieldError("stop",
                      fmt::format("stop must hold strings of 1 to {} bytes", kMaxStopBytes));
  }
  out.emplace_back(text);
  return std::nullopt;
}

}  // namespace

std::optional<std::int64_t> read_integer(const element& value, std::int64_t least,
                                         std::int64_t most) {
  std::int64_t number = 0;
  if (value.is_double()) {
    const double written = value.get_double();
    // 2^63 is the first double beyond the type.
    if (written != std::floor(written) || written < -0x1p63 || written >= 0x1p63) {
      return std::nullopt;
    }
    number = static_cast<std::int64_t>(written);
  } else if (value.get(number) != SUCCESS) {
    return std::nullopt;
  }
  if (number < least || number > most) return std::nullopt;
  return number;
}

Refusal read_token_ids(std::string_view name, const element& value, std::uint32_t vocab_size,
                       std::vector<TokenId>& out) {
  array ids;
  if (value.get(ids) != SUCCESS) {
    return FieldError(name, fmt::format("{} must be a list of token ids", name));
  }
  std::vector<TokenId> read;
  read.reserve(ids.size());
  for (const element item : ids) {
    const auto id = read_integer(item, 0, std::int64_t{vocab_size} - 1);
    if (!id) return bad_ids(name, vocab_size);
    read.push_back(static_cast<TokenId>(*id));
  }
  out = std::move(read);
  return std::nullopt;
}

Refusal read_stop(const element& value, std::vector<std::string>& out) {
  array items;
  if (value.get(items) != SUCCESS) return append_stop(value, out);
  if (items.size() > kMaxStops) {
    return FieldError("stop", fmt::format("stop must hold at most {} strings", kMaxStops));
  }
  for (const element item : items) {
    if (auto refusal = append_stop(item, out)) return refusal;
  }
  return std::nullopt;
}

Refusal read_logit_bias(const element& value, std::uint32_t vocab_size,
                        std::vector<LogitBias>& out) {
  constexpr std::string_view kName = "logit_bias";
  object biases;
  if (value.get(biases) != SUCCESS) {
    return FieldError(kName, "logit_bias must be an object of token ids and numbers");
  }
  out.reserve(biases.size());
  for (const auto field : biases) {
    const auto id = read_id_key(field.key, vocab_size);
    if (!id) {
      return FieldError(kName, fmt::format("the keys of logit_bias must be token ids: \"0\" to "
                                           "\"{}\"",
                                           std::int64_t{vocab_size} - 1));
    }
    double bias = 0;
    if (field.value.get(bias) != SUCCESS || !(std::fabs(bias) <= kMaxBias)) {
      return FieldError(kName, "the values of logit_bias must be numbers from -100 to 100");
    }
    out.push_back({*id, static_cast<float>(bias)});
  }
  return std::nullopt;
}

}  // namespace tickertape::net
