// SubmitFields: what the body of a request asks for, read from one table of fields.
#pragma once
#include <simdjson.h>

#include <cstdint>
#include <optional>
#include <string_view>

#include <tickertape/request.hpp>

#include "net/field_error.hpp"

namespace tickertape::net {

struct SubmitFields {
  Request request;
  std::optional<std::uint32_t> window;  ///< Given: only credit frames give credit back.
  bool notices = false;                 ///< Preemptions are to be told.
};

/// Reads the fields of `body` into `out` and checks their types and ranges; the first bad one is
/// named. Fields that are null have their defaults, unknown ones are ignored, known ones that this
/// version does not serve are refused unless they say what happens anyway.
///
/// Integers may be written as 10, 10.0 or 1e1. A `model` other than `served_model` is a 404.
[[nodiscard]] Refusal read_submit_fields(simdjson::dom::object body, std::string_view served_model,
                                         SubmitFields& out);

/// The value as an integer of [least, most], or nothing. Integral floats count, booleans do not.
[[nodiscard]] std::optional<std::int64_t> read_integer(const simdjson::dom::element& value,
                                                       std::int64_t least, std::int64_t most);

}  // namespace tickertape::net
