// check_fields: whether a request's numbers are in range.
#pragma once
#include <optional>

#include <tickertape/errors.hpp>
#include <tickertape/request.hpp>

namespace tickertape::actors {

/// The first field that is out of range, with the range in the message; nothing when all are fine.
/// Field names are those of the HTTP and WebSocket interface.
[[nodiscard]] std::optional<ErrorInfo> check_fields(const Request& request);

}  // namespace tickertape::actors
