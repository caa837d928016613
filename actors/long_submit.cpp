// LongSubmit: a submit whose text is read on the text thread.
#include "actors/long_submit.hpp"

#include <boost/asio/error.hpp>
#include <exception>
#include <string>
#include <utility>

#include "actors/outbox_registry.hpp"

namespace tickertape::actors {

LongSubmit::LongSubmit(Request&& request, Intake& intake, std::shared_ptr<LanePort> port,
                       runtime::WorkerThread& worker, std::shared_ptr<Outbox> outbox)
    : request_(std::move(request)),
      intake_(intake),
      port_(std::move(port)),
      worker_(worker),
      outbox_(std::move(outbox)),
      submitted_ns_(intake_.now()) {
  port_->counters().pending_texts.fetch_add(request_.n);
}

LongSubmit::~LongSubmit() {
  if (outbox_key_ != 0) outbox_->detach(outbox_key_);
}

boost::asio::any_io_executor LongSubmit::call_executor() const {
  return executor_of(outbox_);
}

void LongSubmit::start_call(std::unique_ptr<detail::PendingCall> pending) {
  pending_ = std::move(pending);
  outbox_key_ = outbox_->attach(weak_from_this());
  worker_.post([self = shared_from_this()] { self->read_text(); });
}

void LongSubmit::read_text() {
  bool wanted = false;
  {
    const std::lock_guard lock(mutex_);
    wanted = pending_ != nullptr && !cancelled_;
  }
  std::shared_ptr<Stream> stream;
  if (wanted) {
    const auto executor = [outbox = outbox_] { return executor_of(outbox); };
    Arrival arrival{submitted_ns_, true};
    try {
      stream = intake_.submit(std::move(request_), outbox_, executor, std::nullopt, arrival);
    } catch (const std::exception& failure) {
      // Nothing but the reading throws; the request is still here.
      ErrorInfo error{Errc::internal, std::string("reading the prompt: ") + failure.what(), {}, 0};
      stream = intake_.submit(std::move(request_), outbox_, executor, std::move(error), arrival);
    }
  } else {
    port_->counters().pending_texts.fetch_sub(request_.n);
  }
  {
    const std::lock_guard lock(mutex_);
    stream_ = TokenStream(std::move(stream));
    read_ = true;
  }
  if (!outbox_->poke(shared_from_this())) abandon();
}

void LongSubmit::cancel_call() {
  {
    const std::lock_guard lock(mutex_);
    cancelled_ = true;
  }
  if (!outbox_->poke(shared_from_this())) abandon();
}

void LongSubmit::deliver(StreamEvent&, RequestOutput&) {
  std::unique_ptr<detail::PendingCall> pending;
  TokenStream stream;
  error_code error;
  {
    const std::lock_guard lock(mutex_);
    if (!read_ && !cancelled_) return;
    pending = std::move(pending_);
    stream = std::move(stream_);
    if (cancelled_) error = boost::asio::error::operation_aborted;
  }
  if (!pending) return;
  if (error) {
    stream = TokenStream();
  } else if (const Errc code = stream.finish().error.code; code != Errc::ok) {
    error = make_error_code(code);
  }
  pending->complete(error, std::move(stream));
}

void LongSubmit::abandon() noexcept {
  std::unique_ptr<detail::PendingCall> pending;
  TokenStream stream;
  const std::lock_guard lock(mutex_);
  pending = std::move(pending_);
  stream = std::move(stream_);
}

}  // namespace tickertape::actors
