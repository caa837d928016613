// SubmitFields: what the body of a request asks for, read from one table of fields.
#pragma once
#include <simdjson.h>

#include <cstdint>
#include <optional>
#include <string>

#include <tickertape/request.hpp>

#include "net/field_error.hpp"

namespace tickertape::net {

/// What a request is checked against.
struct ServedModel {
  std::string name;              ///< That `model` fields must have.
  std::uint32_t vocab_size = 0;  ///< Token ids are below it.
};

struct SubmitFields {
  Request request;
  std::optional<std::uint32_t> window;  ///< Given: only credit frames give credit back.
  bool notices = false;                 ///< Preemptions are to be told.
};

/// Reads the fields of `body` into `out` and checks their types and ranges; the first bad one is
/// named. Fields that are null have their defaults, unknown ones are ignored, known ones that this
/// version does not serve are refused unless they say what happens anyway.
///
/// Integers may be written as 10, 10.0 or 1e1. A `model` other than the served one is a 404.
[[nodiscard]] Refusal read_submit_fields(simdjson::dom::object body, const ServedModel& served,
                                         SubmitFields& out);

}  // namespace tickertape::net
