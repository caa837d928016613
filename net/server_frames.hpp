// The frames that the server sends over tickertape.v1, as JSON text.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <tickertape/finish.hpp>
#include <tickertape/request.hpp>
#include <tickertape/tokenizer.hpp>

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

/// What a client is told first.
struct Hello {
  std::string_view model;
  std::uint32_t max_model_len = 0;
  std::size_t max_streams = 0;  ///< Living generations per connection.
  std::size_t max_body = 0;     ///< Bytes of a message.
};

/// How one choice ended.
struct ChoiceDone {
  std::uint32_t index = 0;
  FinishReason reason = FinishReason::none;
  std::string_view stop;    ///< The stop string that ended it; empty if none did.
  TokenId stop_token = -1;  ///< The stop token that ended it; -1 if none did.
  FrameError error;         ///< With FinishReason::error.
};

[[nodiscard]] std::string hello_frame(const Hello& hello);
[[nodiscard]] std::string accepted_frame(std::string_view quoted_id, const Accepted& accepted);

/// Log-probabilities come with the bytes of their tokens (empty for control tokens, which add none
/// to the text; null without a tokenizer).
[[nodiscard]] std::string token_frame(std::string_view quoted_id, const Token& token,
                                      const Tokenizer* tokenizer);
[[nodiscard]] std::string notice_frame(std::string_view quoted_id, const Notice& notice);

/// The last frame of a choice. The last one of all has `whole`: usage, timings and prompt_logprobs.
[[nodiscard]] std::string done_frame(std::string_view quoted_id, const ChoiceDone& done,
                                     const Finish* whole, const Tokenizer* tokenizer);

/// Without an id (empty) it concerns a frame that could not be attributed.
[[nodiscard]] std::string error_frame(std::string_view quoted_id, const FrameError& error);
[[nodiscard]] std::string pong_frame();

}  // namespace tickertape::net
