// Stream: the shared state between a request's reader and the lane.
#include "actors/stream.hpp"

#include <algorithm>
#include <boost/asio/error.hpp>
#include <iterator>
#include <utility>

#include <tickertape/assert.hpp>

#include "actors/prefetch.hpp"

namespace tickertape::actors {
namespace {

/// Credit comes back in this many parts of the window, so that a token does not cost a message to
/// the lane.
constexpr std::uint32_t kCreditSteps = 4;

}  // namespace

Stream::Stream(StreamSetup setup, std::shared_ptr<LanePort> port, std::shared_ptr<Outbox> outbox,
               ExecutorOf executor)
    : manual_credit_(setup.manual_credit),
      credit_step_(std::max(setup.window / kCreditSteps, 1U)),
      granted_(setup.window),
      actor_(setup.request),
      port_(std::move(port)),
      accepted_(std::move(setup.accepted)),
      on_notice_(std::move(setup.on_notice)),
      outbox_(std::move(outbox)),
      executor_of_(std::move(executor)),
      num_choices_(setup.request.num_choices) {}

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
      has_rejected_ = true;
    } else {
      read_ = std::move(read);
      read_number_ = number;
      read_limit_ = limit;
      if (!has_due()) return;  // The next token completes it.
    }
  }
  poke();
}

void Stream::cancel_read(std::uint64_t number) {
  {
    const std::lock_guard lock(mutex_);
    if (!read_ || read_number_ != number) return;
    cancelled_reads_.push_back(std::move(read_));
    has_rejected_ = true;
  }
  poke();
}

void Stream::poke() {
  if (outbox_ && outbox_->poke(shared_from_this())) return;
  // Nobody runs the executor any more: reads are destroyed without being called.
  abandon();
}

void Stream::deliver(StreamEvent& event, RequestOutput& output) {
  output.clear();
  actor_.deliver(event, cancelled_.load(), output);
  TokenSink* const sink = sink_.load();
  if (sink != nullptr && sink_is_level_ && output.is_token_only()) {
    // Without the lock: nothing that comes before this token waits in here.
    give_back(1);
    return sink->on_token(std::move(output.token));
  }
  settle(output);
}

void Stream::settle(RequestOutput& output) {
  if (output.wasted && port_) port_->counters().wasted_tokens.fetch_add(1);
  bool due = false;
  {
    const std::lock_guard lock(mutex_);
    if (output.stopped) stopped_.push_back(output.token.index);
    if (output.choice_finish != nullptr) {
      finish_.choices.resize(num_choices_);
      finish_.choices[output.token.index] = *output.choice_finish;
    }
    if (output.has_token && !dropped_) ready_.push_back(std::move(output.token));
    if (output.finish != nullptr) {
      finish_ = std::move(*output.finish);
      ended_ = true;
    }
    due = has_due();
  }
  if (output.failed) cancelled_.store(true);
  if (output.stopped || output.failed) mark_dirty();
  if (due) {
    pump_rejected();
    pump_sink();
    pump();
  }
  if (output.notice && on_notice_) on_notice_(*output.notice);
}

void Stream::prefetch() const noexcept {
  actor_.prefetch();
  // A sink mostly lives in the frame of its coroutine, which begins before it.
  constexpr std::size_t kFrameHead = 64;
  const TokenSink* const sink = sink_.load(std::memory_order_relaxed);
  if (sink != nullptr) prefetch_lines(sink, 64, kFrameHead);
}

bool Stream::has_due() const noexcept {
  const bool has_news = ended_ || first_ready_ != ready_.size();
  return has_rejected_ || (has_news && read_) ||
         (sink_ != nullptr && (has_news || !sink_is_level_));
}

std::vector<Token> Stream::take_ready(std::size_t limit) {
  const std::size_t first = std::exchange(first_ready_, 0);
  if (first == 0 && limit >= ready_.size()) return std::exchange(ready_, {});
  const std::size_t count = std::min(limit, ready_.size() - first);
  const auto begin = ready_.begin() + static_cast<std::ptrdiff_t>(first);
  const auto end = begin + static_cast<std::ptrdiff_t>(count);
  std::vector<Token> taken(std::make_move_iterator(begin), std::make_move_iterator(end));
  // What was taken leaves the front when it is half of all, so a token is moved twice at most.
  first_ready_ = first + count;
  if (2 * first_ready_ >= ready_.size()) {
    ready_.erase(ready_.begin(), end);
    first_ready_ = 0;
  }
  return taken;
}

void Stream::pump_rejected() {
  std::vector<ReadPtr> cancelled;
  std::vector<ReadPtr> second;
  {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(has_rejected_, false)) return;
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
    if (!read_ || (first_ready_ == ready_.size() && !ended_)) return;
    tokens = take_ready(read_limit_);
    read = std::move(read_);
  }
  give_back(tokens.size());
  read->complete(error_code(), std::move(tokens));
}

void Stream::pump_sink() {
  TokenSink* sink = nullptr;
  std::vector<Token> tokens;
  bool ended = false;
  {
    const std::lock_guard lock(mutex_);
    if (sink_ == nullptr) return;
    tokens = take_ready(ready_.size());
    ended = ended_;
    sink = ended ? sink_.exchange(nullptr) : sink_.load();
    sink_is_level_ = true;
  }
  give_back(tokens.size());
  for (Token& token : tokens) sink->on_token(std::move(token));
  if (ended) sink->on_end();
}

void Stream::set_sink(TokenSink& sink) {
  {
    const std::lock_guard lock(mutex_);
    TICKERTAPE_ASSERT(sink_ == nullptr && !read_);
    sink_ = &sink;
  }
  poke();  // It takes what is ready.
}

void Stream::give_back(std::uint64_t tokens) {
  if (manual_credit_) return;
  owed_ += static_cast<std::uint32_t>(tokens);
  if (owed_ >= credit_step_) grant(std::exchange(owed_, 0));
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
    first_ready_ = 0;
    sink_ = nullptr;
    if (read_) {
      cancelled_reads_.push_back(std::move(read_));
      has_rejected_ = true;
    }
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
    has_rejected_ = false;
    ready_.clear();
    first_ready_ = 0;
    sink_ = nullptr;
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
  return ended_ && first_ready_ == ready_.size();
}

boost::asio::any_io_executor Stream::executor() const {
  return executor_of_ ? executor_of_() : boost::asio::any_io_executor();
}

}  // namespace tickertape::actors
