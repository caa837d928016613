// RequestActor: one coroutine per request; turns events into text and alone ends the request.
#pragma once
#include <coroutine>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <tickertape/assert.hpp>
#include <tickertape/finish.hpp>
#include <tickertape/tokenizer.hpp>

#include "actors/choice_text.hpp"
#include "actors/prefetch.hpp"
#include "actors/request_output.hpp"
#include "actors/stream_event.hpp"
#include "runtime/task.hpp"

namespace tickertape::actors {

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
  /// no more. REQUIRES: `output` is clear.
  void deliver(StreamEvent& event, bool cancelled, RequestOutput& output) {
    event_ = &event;
    output_ = &output;
    cancelled_ = cancelled;
    std::exchange(waiter_, nullptr).resume();
    TICKERTAPE_ASSERT(waiter_ != nullptr);
  }

  /// Asks for the memory outside of this object that deliver() will touch.
  void prefetch() const noexcept {
    constexpr std::size_t kFrame = 96;  // Of run(), as both compilers make it.
    prefetch_lines(waiter_.address(), kFrame);
    if (has_text_) prefetch_lines(&first_, sizeof(Choice));
  }

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
  [[nodiscard]] Choice& choice(std::uint32_t index) noexcept {
    if (index == 0) [[likely]]
      return first_;
    return others_[index - 1];
  }
  template <class Function>
  void for_each_choice(Function function) {
    function(first_);
    for (Choice& other : others_) function(other);
  }

  void on_event(StreamEvent& event) noexcept;
  void on_other(StreamEvent& event, Choice& its_choice);
  void fail(const char* what) noexcept;
  void on_token(StreamEvent& event, Choice& its_choice);
  void add_text_and_scores(StreamEvent& event, Choice& its_choice);
  void on_last_token(const StreamEvent& event, Choice& its_choice);
  void end_choice(Choice& choice, FinishReason reason, ErrorInfo error) noexcept;
  void on_cancelled(const StreamEvent& event);
  void finish(std::int64_t at_ns) noexcept;

  // What every token touches comes first.
  std::coroutine_handle<> waiter_;
  StreamEvent* event_ = nullptr;
  RequestOutput* output_ = nullptr;
  std::int64_t last_ns_ = -1;
  std::uint32_t ticks_ = 0;
  bool cancelled_ = false;
  const bool has_text_;
  std::vector<Choice> others_;
  Choice first_;  ///< Its counts, that is; most requests have no others.

  std::uint32_t num_left_;  ///< Choices that have not ended.
  std::int64_t first_token_ns_ = -1;
  Finish finish_;
  std::int64_t submitted_ns_;
  std::int64_t started_ns_ = -1;
  runtime::Task<> task_;  ///< Last: its frame refers to the rest.
};

}  // namespace tickertape::actors
