// Errors: why a request was refused or failed, as values and as error codes.
#pragma once
#include <boost/system/error_code.hpp>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

namespace tickertape {

using boost::system::error_code;

/// One code per reason. `ok` is never thrown.
enum class Errc : std::uint8_t {
  ok = 0,
  invalid_request,    ///< A field is missing or out of range (400).
  prompt_empty,       ///< Nothing to run (400).
  prompt_too_long,    ///< Prompt + 1 exceeds min(max_model_len, pool) (400).
  not_supported,      ///< A known field that this version does not serve (400).
  queue_full,         ///< max_queued_requests or max_queued_tokens reached (429).
  shutting_down,      ///< The engine drains or has ended (503).
  deadline_exceeded,  ///< The request's deadline passed (504).
  no_executor,        ///< async_submit's handler has no executor and the engine none (500).
  read_pending,       ///< A second read while one is pending (a bug of the caller).
  backend_failed,     ///< The device or the backend failed (500).
  invalid_model,      ///< A model file that cannot be used.
  connection_lost,    ///< A Client has no connection to its server, or lost it (503).
  internal            ///< A fault of ours (500).
};

[[nodiscard]] const boost::system::error_category& error_category() noexcept;
[[nodiscard]] inline error_code make_error_code(Errc code) noexcept {
  return {static_cast<int>(code), error_category()};
}
/// The HTTP status that tells a client of this reason.
[[nodiscard]] int http_status(Errc code) noexcept;

/// A refusal or failure with everything a client is told.
struct ErrorInfo {
  Errc code = Errc::ok;
  std::string message;     ///< One sentence, without the request's content.
  std::string param;       ///< The field at fault, as the client spells it; empty if none.
  double retry_after = 0;  ///< Seconds; 0 = not said.

  [[nodiscard]] explicit operator bool() const noexcept { return code != Errc::ok; }
  [[nodiscard]] int status() const noexcept { return http_status(code); }
};

/// Thrown where an exception is the way to tell: loading a model, constructing an engine.
class Error : public std::runtime_error {
 public:
  explicit Error(ErrorInfo info) : std::runtime_error(info.message), info_(std::move(info)) {}
  Error(Errc code, const std::string& message) : Error(ErrorInfo{code, message, {}, 0}) {}
  [[nodiscard]] const ErrorInfo& info() const noexcept { return info_; }

 private:
  ErrorInfo info_;
};

}  // namespace tickertape

template <>
struct boost::system::is_error_code_enum<tickertape::Errc> : std::true_type {};
