// RemoteStream: what came over the connection on one side, the reader's calls on the other.
#include "net/remote_stream.hpp"

#include <algorithm>
#include <boost/asio/error.hpp>
#include <utility>

namespace tickertape::net {
namespace {

/// Takes the first of `queue` under the lock; null when there is none.
template <class Pointer>
Pointer pop(std::mutex& mutex, std::deque<Pointer>& queue) {
  const std::lock_guard lock(mutex);
  if (queue.empty()) return nullptr;
  Pointer first = std::move(queue.front());
  queue.pop_front();
  return first;
}

}  // namespace

RemoteStream::RemoteStream(const boost::asio::any_io_executor& executor, RemoteSetup setup,
                           std::weak_ptr<RemoteOwner> owner)
    : RemoteTarget(executor),
      setup_(std::move(setup)),
      owner_(std::move(owner)),
      allowed_(setup_.window) {}

// --- the call that submits ---

void RemoteStream::start_call(std::unique_ptr<detail::PendingCall> pending) {
  bool refused = false;
  {
    const std::lock_guard lock(mutex_);
    call_ = std::move(pending);
    refused = ended_;
  }
  if (refused) return schedule();
  if (const auto owner = owner_.lock()) return owner->submit(self());
  refuse(ErrorInfo{Errc::shutting_down, "the client was closed", {}, 0});
}

void RemoteStream::cancel_call() {
  {
    const std::lock_guard lock(mutex_);
    if (!call_) return;
    call_aborted_ = true;
    dropped_ = true;
    ready_.clear();
  }
  if (!cancelled_.exchange(true)) mark_changed();
  schedule();
}

void RemoteStream::complete_call() {
  std::unique_ptr<detail::PendingCall> call;
  error_code error;
  bool aborted = false;
  {
    const std::lock_guard lock(mutex_);
    aborted = call_aborted_;
    if (!call_ || (!aborted && !answered_)) return;
    call = std::move(call_);
    if (finish_.error) error = make_error_code(finish_.error.code);
  }
  if (aborted) return call->complete(boost::asio::error::operation_aborted, TokenStream());
  call->complete(error, TokenStream(self()));
}

// --- the reader's side ---

std::uint64_t RemoteStream::reserve_read() {
  const std::lock_guard lock(mutex_);
  return ++next_read_;
}

void RemoteStream::start_read(std::uint64_t number, ReadPtr read, std::size_t limit) {
  {
    const std::lock_guard lock(mutex_);
    if (read_) {
      second_reads_.push_back(std::move(read));
    } else {
      read_ = std::move(read);
      read_number_ = number;
      read_limit_ = limit;
      if (ready_.empty() && !ended_) return;  // The next token completes it.
    }
  }
  schedule();
}

void RemoteStream::cancel_read(std::uint64_t number) {
  {
    const std::lock_guard lock(mutex_);
    if (!read_ || read_number_ != number) return;
    cancelled_reads_.push_back(std::move(read_));
  }
  schedule();
}

void RemoteStream::add_credit(std::uint32_t tokens) {
  if (tokens == 0) return;
  credit_.fetch_add(tokens);
  mark_changed();
}

void RemoteStream::cancel() {
  {
    const std::lock_guard lock(mutex_);
    if (ended_) return;
  }
  if (!cancelled_.exchange(true)) mark_changed();
}

void RemoteStream::drop() noexcept {
  {
    const std::lock_guard lock(mutex_);
    dropped_ = true;
    ready_.clear();
    if (read_) cancelled_reads_.push_back(std::move(read_));
    if (ended_ && cancelled_reads_.empty()) return;
  }
  if (!cancelled_.exchange(true)) mark_changed();
  schedule();
}

Finish RemoteStream::finish() const {
  const std::lock_guard lock(mutex_);
  return finish_;
}

bool RemoteStream::done() const {
  const std::lock_guard lock(mutex_);
  return ended_ && ready_.empty();
}

void RemoteStream::mark_changed() {
  if (changed_.exchange(true)) return;
  if (const auto owner = owner_.lock()) owner->changed(self());
}

/// Half a window at a time, so that a frame is not sent for every token.
void RemoteStream::give_back(std::size_t tokens) {
  if (setup_.manual_credit) return;
  std::uint64_t credit = 0;
  {
    const std::lock_guard lock(mutex_);
    unreturned_ += tokens;
    if (ended_ || unreturned_ < std::max<std::uint64_t>(1, setup_.window / 2)) return;
    credit = std::exchange(unreturned_, 0);
  }
  credit_.fetch_add(credit);
  mark_changed();
}

std::uint32_t RemoteStream::take_credit(std::uint32_t most) {
  std::uint64_t have = credit_.load();
  std::uint64_t taken = 0;
  do {
    taken = std::min<std::uint64_t>(have, most);
  } while (!credit_.compare_exchange_weak(have, have - taken));
  allowed_ += taken;
  return static_cast<std::uint32_t>(taken);
}

// --- on the stream's executor ---

void RemoteStream::run() {
  complete_call();
  complete_rejected();
  complete_read();
  tell_notices();
}

void RemoteStream::complete_rejected() {
  while (ReadPtr read = pop(mutex_, cancelled_reads_)) {
    read->complete(boost::asio::error::operation_aborted, {});
  }
  while (ReadPtr read = pop(mutex_, second_reads_)) {
    read->complete(make_error_code(Errc::read_pending), {});
  }
}

void RemoteStream::complete_read() {
  ReadPtr read;
  std::vector<Token> tokens;
  {
    const std::lock_guard lock(mutex_);
    if (!read_ || (ready_.empty() && !ended_)) return;
    const auto last =
        ready_.begin() + static_cast<std::ptrdiff_t>(std::min(read_limit_, ready_.size()));
    tokens.assign(std::make_move_iterator(ready_.begin()), std::make_move_iterator(last));
    ready_.erase(ready_.begin(), last);
    read = std::move(read_);
  }
  if (!tokens.empty()) give_back(tokens.size());
  read->complete(error_code(), std::move(tokens));
}

void RemoteStream::tell_notices() {
  for (;;) {
    Notice notice;
    {
      const std::lock_guard lock(mutex_);
      if (notices_.empty()) return;
      notice = notices_.front();
      notices_.pop_front();
      if (dropped_) continue;
    }
    setup_.on_notice(notice);
  }
}

void RemoteStream::abandoned() noexcept {
  // Destroyed without the lock, and without being called, as Asio does.
  std::unique_ptr<detail::PendingCall> call;
  ReadPtr read;
  std::deque<ReadPtr> cancelled;
  std::deque<ReadPtr> second;
  {
    const std::lock_guard lock(mutex_);
    call = std::move(call_);
    read = std::move(read_);
    cancelled.swap(cancelled_reads_);
    second.swap(second_reads_);
    ready_.clear();
  }
  if (!cancelled_.exchange(true)) mark_changed();
}

// --- on the connection's strand ---

void RemoteStream::on_accepted(Accepted accepted) {
  accepted_ = std::move(accepted);
  accepted_.prompt_ids = std::move(setup_.prompt_ids);
  is_accepted_ = true;
  choices_.resize(setup_.num_choices);
  {
    const std::lock_guard lock(mutex_);
    answered_ = true;
  }
  schedule();
}

bool RemoteStream::on_token(Token&& token) {
  if (token.index >= choices_.size() || allowed_ == 0) return false;
  Choice& choice = choices_[token.index];
  if (choice.ended() || token.seq != choice.finish.completion_tokens) return false;
  --allowed_;
  ++choice.finish.completion_tokens;
  {
    const std::lock_guard lock(mutex_);
    if (dropped_) return true;
    ready_.push_back(std::move(token));
    if (!read_) return true;
  }
  schedule();
  return true;
}

void RemoteStream::on_notice(const Notice& notice) {
  if (!setup_.on_notice) return;
  {
    const std::lock_guard lock(mutex_);
    notices_.push_back(notice);
  }
  schedule();
}

bool RemoteStream::on_choice_done(std::uint32_t index, ChoiceFinish finish) {
  if (index >= choices_.size() || choices_[index].ended()) return false;
  finish.completion_tokens = choices_[index].finish.completion_tokens;
  choices_[index].finish = std::move(finish);
  return choices_[index].ended();
}

bool RemoteStream::on_end(RemoteEnd end_of_all) {
  const auto ended = [](const Choice& choice) { return choice.ended(); };
  if (!std::all_of(choices_.begin(), choices_.end(), ended)) return false;
  end(whole(std::move(end_of_all)));
  return true;
}

Finish RemoteStream::whole(RemoteEnd end) const {
  Finish out;
  out.usage = end.usage;
  out.timings = end.timings;
  out.prompt_logprobs = std::move(end.prompt_logprobs);
  for (const Choice& choice : choices_) {
    if (out.choices.empty() || choice.finish.reason == FinishReason::error) {
      if (out.reason != FinishReason::error) {
        out.reason = choice.finish.reason;
        out.error = choice.finish.error;
      }
    }
    out.choices.push_back(choice.finish);
  }
  return out;
}

void RemoteStream::refuse(ErrorInfo error) {
  Finish finish;
  finish.reason = FinishReason::error;
  finish.error = std::move(error);
  end(std::move(finish));
}

void RemoteStream::fail(FinishReason reason, const ErrorInfo& error) {
  if (!is_accepted_) return refuse(error);
  RemoteEnd sum;
  sum.usage.prompt_tokens = accepted_.prompt_tokens;
  for (Choice& choice : choices_) {
    sum.usage.completion_tokens += choice.finish.completion_tokens;
    if (choice.ended()) continue;
    choice.finish.reason = reason;
    if (reason == FinishReason::error) choice.finish.error = error;
  }
  end(whole(std::move(sum)));
}

void RemoteStream::end(Finish finish) {
  {
    const std::lock_guard lock(mutex_);
    if (ended_) return;
    finish_ = std::move(finish);
    ended_ = true;
    answered_ = true;
  }
  schedule();
}

}  // namespace tickertape::net
