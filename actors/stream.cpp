// Stream: the shared state between a request's reader and the lane.
#include "actors/stream.hpp"

#include <boost/asio/error.hpp>
#include <utility>

namespace tickertape::actors {

Stream::Stream(StreamSetup setup, std::shared_ptr<LanePort> port, std::shared_ptr<Outbox> outbox,
               ExecutorOf executor)
    : accepted_(std::move(setup.accepted)),
      manual_credit_(setup.manual_credit),
      on_notice_(std::move(setup.on_notice)),
      port_(std::move(port)),
      outbox_(std::move(outbox)),
      executor_of_(std::move(executor)),
      num_choices_(setup.request.num_choices),
      actor_(setup.request),
      granted_(setup.window) {}

Stream::~Stream() {
  if (outbox_key_ != 0) outbox_->detach(outbox_key_);
}

std::uint64_t Stream::reserve_read() {
  const std::lock_guard lock(mutex_);
  return ++next_read_;
}

void Stream::start_read(std::uint64_t number, ReadPtr read, std::size_t limit) {
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
  poke();
}

void Stream::cancel_read(std::uint64_t number) {
  {
    const std::lock_guard lock(mutex_);
    if (!read_ || read_number_ != number) return;
    cancelled_reads_.push_back(std::move(read_));
  }
  poke();
}

void Stream::poke() {
  if (outbox_ && outbox_->poke(shared_from_this())) return;
  // Nobody runs the executor any more: reads are destroyed without being called.
  abandon();
}

void Stream::deliver(StreamEvent& event) {
  RequestOutput output = actor_.deliver(event, cancelled_.load());
  if (output.wasted && port_) port_->counters().wasted_tokens.fetch_add(1);
  if (output.token || output.finish) {
    const std::lock_guard lock(mutex_);
    if (output.stopped) stopped_.push_back(output.token->index);
    if (output.choice_finish) {
      finish_.choices.resize(num_choices_);
      finish_.choices[output.token->index] = std::move(*output.choice_finish);
    }
    if (output.token && !dropped_) ready_.push_back(std::move(*output.token));
    if (output.finish) {
      finish_ = std::move(*output.finish);
      ended_ = true;
    }
  }
  if (output.stopped) mark_dirty();
  pump_rejected();
  pump();
  if (output.notice && on_notice_) on_notice_(*output.notice);
}

void Stream::pump_rejected() {
  std::vector<ReadPtr> cancelled;
  std::vector<ReadPtr> second;
  {
    const std::lock_guard lock(mutex_);
    cancelled.swap(cancelled_reads_);
    second.swap(second_reads_);
  }
  for (ReadPtr& read : cancelled) read->complete(boost::asio::error::operation_aborted, {});
  for (ReadPtr& read : second) read->complete(make_error_code(Errc::read_pending), {});
}

void Stream::pump() {
  ReadPtr read;
  std::vector<Token> tokens;
  {
    const std::lock_guard lock(mutex_);
    if (!read_ || (ready_.empty() && !ended_)) return;
    const std::size_t count = std::min(read_limit_, ready_.size());
    tokens.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
      tokens.push_back(std::move(ready_.front()));
      ready_.pop_front();
    }
    read = std::move(read_);
  }
  if (!manual_credit_ && !tokens.empty()) grant(tokens.size());
  read->complete(error_code(), std::move(tokens));
}

void Stream::grant(std::uint64_t tokens) {
  granted_.fetch_add(tokens);
  mark_dirty();
}

void Stream::add_credit(std::uint32_t tokens) {
  if (tokens > 0) grant(tokens);
}

void Stream::mark_dirty() {
  if (!port_ || dirty_.exchange(true)) return;
  port_->mark_dirty(shared_from_this());
}

std::vector<std::uint32_t> Stream::take_stopped() {
  const std::lock_guard lock(mutex_);
  return std::exchange(stopped_, {});
}

void Stream::cancel() {
  {
    const std::lock_guard lock(mutex_);
    if (ended_) return;
  }
  if (cancelled_.exchange(true)) return;
  mark_dirty();
  poke();
}

void Stream::drop() noexcept {
  {
    const std::lock_guard lock(mutex_);
    dropped_ = true;
    ready_.clear();
    if (read_) cancelled_reads_.push_back(std::move(read_));
    if (ended_ && cancelled_reads_.empty()) return;
  }
  if (!cancelled_.exchange(true)) mark_dirty();
  poke();
}

void Stream::abandon() noexcept {
  std::vector<ReadPtr> dead;
  {
    const std::lock_guard lock(mutex_);
    if (read_) dead.push_back(std::move(read_));
    for (ReadPtr& read : cancelled_reads_) dead.push_back(std::move(read));
    for (ReadPtr& read : second_reads_) dead.push_back(std::move(read));
    cancelled_reads_.clear();
    second_reads_.clear();
    ready_.clear();
  }
  if (!cancelled_.exchange(true)) mark_dirty();
}

void Stream::refuse(ErrorInfo error) {
  const std::lock_guard lock(mutex_);
  finish_.reason = FinishReason::error;
  finish_.error = std::move(error);
  finish_.usage.prompt_tokens = accepted_.prompt_tokens;
  ended_ = true;
}

Finish Stream::finish() const {
  const std::lock_guard lock(mutex_);
  return finish_;
}

bool Stream::done() const {
  const std::lock_guard lock(mutex_);
  return ended_ && ready_.empty();
}

boost::asio::any_io_executor Stream::executor() const {
  return executor_of_ ? executor_of_() : boost::asio::any_io_executor();
}

}  // namespace tickertape::actors
