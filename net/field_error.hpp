// FieldError: why a field of a request is refused.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace tickertape::net {

/// Messages hold no bytes of the client, so they are always short and valid UTF-8.
struct FieldError {
  FieldError(std::string_view name, std::string text, int code = 400)
      : status(code), message(std::move(text)), param(name) {}

  int status;           ///< As in HTTP.
  std::string message;  ///< One sentence.
  std::string param;    ///< The field at fault; empty if none.
};

/// Nothing, or the reason of a refusal.
using Refusal = std::optional<FieldError>;

}  // namespace tickertape::net
