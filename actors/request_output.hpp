// RequestOutput: what one event came to.
#pragma once
#include <optional>

#include <tickertape/finish.hpp>
#include <tickertape/request.hpp>

namespace tickertape::actors {

/// One for all deliveries of a drain: to make a token anew would cost more than most of them write.
/// Pointers are into the actor, to be moved from until its next event.
struct RequestOutput {
  Token token;  ///< With has_token.
  bool has_token = false;
  bool has_more = false;  ///< Text or scores are in `token`, or one of the following is set.
  bool stopped = false;   ///< Its choice ended by a stop string: the lane must hear of it.
  bool wasted = false;    ///< A token that came after the end.
  bool failed = false;    ///< A fault of ours ended it: the lane must hear of it.
  std::optional<Notice> notice;
  Finish* finish = nullptr;  ///< At most once in the actor's life.
  /// How the token's choice ended, when it is the last one of a choice before others.
  const ChoiceFinish* choice_finish = nullptr;

  /// There is a token and nothing besides it.
  [[nodiscard]] bool is_token_only() const noexcept {
    return has_token && token.finish_reason == FinishReason::none;
  }

  /// To write what only few events come to.
  [[nodiscard]] RequestOutput& more() noexcept {
    has_more = true;
    return *this;
  }

  /// Ready for the next event. Every token writes its numbers anew.
  void clear() noexcept {
    has_token = false;
    if (has_more) clear_more();
  }

 private:
  void clear_more() noexcept {
    token.text.clear();
    token.logprob.reset();
    token.top_logprobs.clear();
    has_more = stopped = wasted = failed = false;
    notice.reset();
    finish = nullptr;
    choice_finish = nullptr;
  }
};

}  // namespace tickertape::actors
