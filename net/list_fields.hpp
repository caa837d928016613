// The fields of a request that hold lists: token ids, stop strings and biases.
#pragma once
#include <simdjson.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tickertape/sampling.hpp>

#include "net/field_error.hpp"

namespace tickertape::net {

/// A list of token ids, each from 0 to vocab_size - 1. May be empty.
[[nodiscard]] Refusal read_token_ids(std::string_view name, const simdjson::dom::element& value,
                                     std::uint32_t vocab_size, std::vector<TokenId>& out);

/// `stop`: a string or a list of strings, at most 64 of 1 to 1,024 bytes.
[[nodiscard]] Refusal read_stop(const simdjson::dom::element& value, std::vector<std::string>& out);

/// `logit_bias`: an object whose keys are token ids in decimal and whose values are numbers from
/// -100 to 100.
[[nodiscard]] Refusal read_logit_bias(const simdjson::dom::element& value, std::uint32_t vocab_size,
                                      std::vector<LogitBias>& out);

/// The value as an integer of [least, most], or nothing. Integral floats count, booleans do not.
[[nodiscard]] std::optional<std::int64_t> read_integer(const simdjson::dom::element& value,
                                                       std::int64_t least, std::int64_t most);

}  // namespace tickertape::net
