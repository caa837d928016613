// The frames that the server sends over tickertape.v1, as JSON text.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <tickertape/finish.hpp>
#include <tickertape/request.hpp>

namespace tickertape::net {

// Every function gives one message of valid UTF-8 JSON, and none fails on any input. `quoted_id` is
// the client's id as JSON text (json_string), since a token frame is written for every token.

/// What stands in an error frame, and in a done frame whose reason is `error`.
struct FrameError {
  int status = 500;
  std::string_view message;
  std::string_view param;  ///< Empty: null.
  double retry_after = 0;  ///< Seconds; 0 = not said.
};

[[nodiscard]] std::string hello_frame(std::string_view model, std::uint32_t max_model_len,
                                      std::size_t max_streams);
[[nodiscard]] std::string accepted_frame(std::string_view quoted_id, const Accepted& accepted);
[[nodiscard]] std::string token_frame(std::string_view quoted_id, const Token& token);
[[nodiscard]] std::string notice_frame(std::string_view quoted_id, const Notice& notice);

/// The last frame of a generation. `reason` may differ from `finish.reason` when the server ended
/// it.
[[nodiscard]] std::string done_frame(std::string_view quoted_id, FinishReason reason,
                                     const Finish& finish);

/// Without an id (empty) it concerns a frame that could not be attributed.
[[nodiscard]] std::string error_frame(std::string_view quoted_id, const FrameError& error);
[[nodiscard]] std::string pong_frame();

}  // namespace tickertape::net
