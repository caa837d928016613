// StreamEvent: what the lane tells a request actor.
#pragma once
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <tickertape/finish.hpp>
#include <tickertape/request.hpp>

namespace tickertape::actors {

/// What only few events carry.
struct EventDetails {
  std::vector<PromptLogprob> scores;  ///< `scores`
  std::optional<float> logprob;       ///< `token`
  std::vector<TokenLogprob> top;      ///< `token`
  ErrorInfo error;                    ///< `end`
  std::uint32_t cached_tokens = 0;    ///< `started`: prompt tokens that were there already.
  std::uint32_t swapped_pages = 0;    ///< `preempted`, `resumed`
};

/// Moved from the lane to the stream's executor in one batch per executor and tick.
struct StreamEvent {
  enum class Kind : std::uint8_t {
    started,    ///< Admitted for the first time.
    token,      ///< One sampled token; the choice's last when `reason` says so.
    scores,     ///< Log-probabilities of prompt tokens.
    preempted,  ///< Lost its pages.
    resumed,    ///< Has pages again.
    end,        ///< No more tokens of this choice, and none comes with it: why.
    poke        ///< Something on the reader's side: a read, a cancellation.
  };

  StreamEvent(Kind what, std::int64_t when_ns) : kind(what), at_ns(when_ns) {}

  static StreamEvent of_token(TokenId id, std::int64_t when_ns) {
    StreamEvent event(Kind::token, when_ns);
    event.token = id;
    return event;
  }
  static StreamEvent of_end(FinishReason why, ErrorInfo error, std::int64_t when_ns) {
    StreamEvent event(Kind::end, when_ns);
    event.reason = why;
    if (error) {
      event.details = std::make_unique<EventDetails>();
      event.details->error = std::move(error);
    }
    return event;
  }

  Kind kind;
  FinishReason reason = FinishReason::none;
  Notice::How how = Notice::How::recompute;
  TokenId token = -1;
  std::uint32_t choice = 0;
  std::uint32_t ticks = 0;  ///< Passes that the choice had a row in.
  std::int64_t at_ns;
  std::unique_ptr<EventDetails> details;
};

}  // namespace tickertape::actors
