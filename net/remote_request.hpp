// encode_submit: a request as the frame that asks a server for it.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include <tickertape/errors.hpp>
#include <tickertape/request.hpp>

namespace tickertape::net {

/// Writes the submit frame (interface section 4) to `out`. Settings that have their default are
/// left out. Refuses what JSON or the protocol cannot carry: a LogitProcessor, numbers that are not
/// finite, text that is not UTF-8. Ranges are the server's to check.
[[nodiscard]] std::optional<ErrorInfo> encode_submit(std::string_view id, const Request& request,
                                                     std::string& out);

}  // namespace tickertape::net
