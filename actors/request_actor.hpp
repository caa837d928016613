// RequestActor: one coroutine per request; turns events into text and alone ends the request.
#pragma once
#include <coroutine>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <tickertape/finish.hpp>
#include <tickertape/tokenizer.hpp>

#include "actors/choice_text.hpp"
#include "actors/stream_event.hpp"
#include "runtime/task.hpp"

namespace tickertape::actors {

/// What one event came to.
struct RequestOutput {
  std::optional<Token> token;
  std::optional<Notice> notice;
  std::optional<Finish> finish;  ///< At most once in the actor's life.
  /// How the token's choice ended, when it is the last one of a choice before others.
  std::optional<ChoiceFinish> choice_finish;
  bool stopped = false;  ///< Its choice ended by a stop string: the lane must hear of it.
  bool wasted = false;   ///< A token that came after the end.
  bool failed = false;   ///< A fault of ours ended it: the lane must hear of it.
};

/// What a request actor is born with.
struct RequestSetup {
  std::shared_ptr<const Tokenizer> tokenizer;  ///< May be null: then tokens have no text.
  TextRules text;
  std::uint32_t prompt_tokens = 0;
  std::uint32_t num_choices = 1;
  std::int64_t submitted_ns = 0;  ///< The lane's clock.
};

/// Lives in the stream's shared state and runs only inside deliver(), on the stream's executor, one
/// call at a time.
class RequestActor {
 public:
  explicit RequestActor(const RequestSetup& setup);

  /// Resumes the actor with one event; returns when it waits again. `cancelled`: the reader wants
  /// no more.
  RequestOutput deliver(StreamEvent& event, bool cancelled);

  /// Asks for the memory that deliver() will touch.
  void prefetch() const noexcept;

 private:
  /// The actor awaits in exactly one place.
  struct NextEvent {
    RequestActor& actor;
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> handle) noexcept { actor.waiter_ = handle; }
    StreamEvent& await_resume() const noexcept { return *actor.event_; }
  };

  struct Choice {
    explicit Choice(ChoiceText its_text) : text(std::move(its_text)) {}
    ChoiceFinish finish;
    ChoiceText text;
    [[nodiscard]] bool ended() const noexcept { return finish.reason != FinishReason::none; }
  };

  runtime::Task<> run();
  void on_event(StreamEvent& event);
  void fail(const char* what);
  void on_token(StreamEvent& event, Choice& choice);
  void end_choice(Choice& choice, FinishReason reason, const EventDetails* details);
  void on_cancelled(const StreamEvent& event);
  void finish(std::int64_t at_ns);

  // What every token touches lies together.
  std::coroutine_handle<> waiter_;
  StreamEvent* event_ = nullptr;
  RequestOutput* output_ = nullptr;
  std::vector<Choice> choices_;
  std::int64_t first_token_ns_ = -1;
  std::int64_t last_ns_ = -1;
  std::uint32_t num_left_;  ///< Choices that have not ended.
  std::uint32_t ticks_ = 0;
  bool cancelled_ = false;
  const bool has_text_;

  Finish finish_;
  std::int64_t submitted_ns_;
  std::int64_t started_ns_ = -1;
  runtime::Task<> task_;  ///< Last: its frame refers to the rest.
};

}  // namespace tickertape::actors
