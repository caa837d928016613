// RequestActor: one coroutine per request; turns events into text and alone ends the request.
#pragma once
#include <coroutine>
#include <cstdint>
#include <memory>
#include <optional>

#include <tickertape/finish.hpp>
#include <tickertape/tokenizer.hpp>

#include "actors/stream_event.hpp"
#include "runtime/task.hpp"

namespace tickertape::actors {

/// What one event came to.
struct RequestOutput {
  std::optional<Token> token;
  std::optional<Notice> notice;
  std::optional<Finish> finish;  ///< At most once in the actor's life.
  bool wasted = false;           ///< A token that came after the end.
};

/// Lives in the stream's shared state and runs only inside deliver(), on the stream's executor, one
/// call at a time.
class RequestActor {
 public:
  /// `tokenizer` may be null: then tokens have no text. `submitted_ns` is the lane's clock.
  RequestActor(std::shared_ptr<const Tokenizer> tokenizer, std::uint32_t prompt_tokens,
               std::int64_t submitted_ns);

  /// Resumes the actor with one event; returns when it waits again. `cancelled`: the reader wants
  /// no more.
  RequestOutput deliver(StreamEvent& event, bool cancelled);

 private:
  /// The actor awaits in exactly one place.
  struct NextEvent {
    RequestActor& actor;
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> handle) noexcept { actor.waiter_ = handle; }
    StreamEvent& await_resume() const noexcept { return *actor.event_; }
  };

  runtime::Task<> run();
  void on_token(StreamEvent& event);
  void on_end(FinishReason reason, const EventDetails* details, std::int64_t at_ns);

  std::optional<Detokenizer> detokenizer_;
  std::coroutine_handle<> waiter_;
  StreamEvent* event_ = nullptr;
  bool cancelled_ = false;
  RequestOutput output_;

  Finish finish_;
  bool ended_ = false;
  std::uint64_t next_seq_ = 0;
  std::int64_t submitted_ns_;
  std::int64_t started_ns_ = -1;
  std::int64_t first_token_ns_ = -1;
  std::int64_t last_ns_ = -1;
  std::vector<PromptLogprob> scores_;
  runtime::Task<> task_;  ///< Last: its frame refers to the rest.
};

}  // namespace tickertape::actors
