// ClientCore: idle -> connecting -> open -> idle again, and closed in the end.
#include "net/client_core.hpp"

#include <fmt/format.h>

#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <utility>

#include "net/json_text.hpp"
#include "net/remote_request.hpp"
#include "net/upgrade.hpp"

namespace tickertape::net {
namespace {

/// No credit is written while so much waits for the socket: a later frame says it all at once.
constexpr std::size_t kMaxUnsentBytes = 256U << 10;
/// The most that one credit frame can give.
constexpr std::uint32_t kMaxCredit = 65536;
constexpr std::uint16_t kNormalClose = 1000;
constexpr std::uint16_t kProtocolError = 1002;

ErrorInfo closed_error() {
  return ErrorInfo{Errc::shutting_down, "the client was closed", {}, 0};
}

void check_options(const ClientOptions& options) {
  const auto refuse = [](const char* param, const char* rule) {
    throw Error(ErrorInfo{Errc::invalid_request, std::string(param) + " " + rule, param, 0});
  };
  for (const char c : options.api_key) {
    if (static_cast<unsigned char>(c) <= ' ' || c == '\x7F') {
      refuse("api_key", "must hold no spaces, line ends or control characters");
    }
  }
  constexpr double kMax_s = 1e6;
  if (!(options.connect_timeout_s > 0 && options.connect_timeout_s <= kMax_s)) {
    refuse("connect_timeout_s", "must be above 0 and at most 1e6");
  }
  if (!(options.close_timeout_s > 0 && options.close_timeout_s <= kMax_s)) {
    refuse("close_timeout_s", "must be above 0 and at most 1e6");
  }
  if (!(options.idle_timeout_s >= 0 && options.idle_timeout_s <= kMax_s)) {
    refuse("idle_timeout_s", "must be from 0 (never) to 1e6");
  }
  if (options.max_message == 0) refuse("max_message", "must be at least 1");
}

std::string credit_frame(const std::string& id, std::uint32_t tokens) {
  return fmt::format(R"({{"type":"credit","id":{},"tokens":{}}})", json_string(id), tokens);
}

std::string cancel_frame(const std::string& id) {
  return fmt::format(R"({{"type":"cancel","id":{}}})", json_string(id));
}

}  // namespace

void ClientCall::start_call(std::unique_ptr<detail::PendingCall> pending) {
  {
    const std::lock_guard lock(mutex_);
    pending_ = std::move(pending);
  }
  if (const auto core = core_.lock()) {
    core->connect(std::static_pointer_cast<ClientCall>(shared_from_this()));
  } else {
    finish(make_error_code(Errc::shutting_down));
  }
}

std::shared_ptr<ClientCore> ClientCore::make(const boost::asio::any_io_executor& executor,
                                             ClientOptions options) {
  check_options(options);
  ClientUrl url = parse_client_url(options.url);
  auto core = std::make_shared<ClientCore>(executor, std::move(options), std::move(url));
  core->listen();
  return core;
}

ClientCore::ClientCore(const boost::asio::any_io_executor& executor, ClientOptions options,
                       ClientUrl url)
    : RemoteTarget(boost::asio::make_strand(executor)),
      options_(std::move(options)),
      url_(std::move(url)),
      home_(runtime::make_asio_poster(executor)),
      reader_(options_.max_message) {}

// --- any thread ---

boost::asio::any_io_executor ClientCore::or_home(boost::asio::any_io_executor executor) const {
  return executor ? std::move(executor) : home();
}

std::shared_ptr<detail::AsyncCall> ClientCore::prepare_connect(
    boost::asio::any_io_executor executor) {
  executor = or_home(std::move(executor));
  if (!executor) return nullptr;
  auto call = std::make_shared<ClientCall>(
      executor, std::static_pointer_cast<ClientCore>(shared_from_this()));
  call->listen();
  return call;
}

std::shared_ptr<detail::AsyncCall> ClientCore::prepare_submit(boost::asio::any_io_executor executor,
                                                              const Request& request) {
  executor = or_home(std::move(executor));
  if (!executor) return nullptr;
  RemoteSetup setup;
  {
    const std::lock_guard lock(mutex_);
    setup.id = std::to_string(next_id_++);
  }
  auto refusal = encode_submit(setup.id, request, setup.submit);
  setup.window = request.window;
  setup.manual_credit = request.manual_credit;
  setup.num_choices = request.n;
  setup.prompt_ids = request.prompt_ids;
  setup.on_notice = request.on_notice;
  auto stream = std::make_shared<RemoteStream>(
      executor, std::move(setup), std::static_pointer_cast<ClientCore>(shared_from_this()));
  stream->listen();
  if (refusal) stream->refuse(std::move(*refusal));
  return stream;
}

void ClientCore::connect(const std::shared_ptr<ClientCall>& call) {
  {
    const std::lock_guard lock(mutex_);
    inbox_.connects.push_back(call);
  }
  schedule();
}

void ClientCore::submit(const StreamPtr& stream) {
  {
    const std::lock_guard lock(mutex_);
    inbox_.submits.push_back(stream);
  }
  schedule();
}

void ClientCore::changed(const StreamPtr& stream) {
  {
    const std::lock_guard lock(mutex_);
    inbox_.changed.push_back(stream);
  }
  schedule();
}

void ClientCore::close() {
  {
    const std::lock_guard lock(mutex_);
    inbox_.close = true;
  }
  schedule();
}

std::optional<ServerHello> ClientCore::hello() const {
  const std::lock_guard lock(mutex_);
  return hello_;
}

ErrorInfo ClientCore::last_error() const {
  const std::lock_guard lock(mutex_);
  return last_error_;
}

// --- the strand ---

void ClientCore::run() {
  Inbox inbox;
  {
    const std::lock_guard lock(mutex_);
    inbox = std::exchange(inbox_, {});
  }
  for (auto& call : inbox.connects) take_connect(std::move(call));
  for (const StreamPtr& stream : inbox.submits) take_submit(stream);
  for (StreamPtr& stream : inbox.changed) changed_.push_back(std::move(stream));
  send_changes();
  if (inbox.close) take_close();
}

void ClientCore::want_connection() {
  if (state_ != State::idle) return;
  state_ = State::connecting;
  {
    const std::lock_guard lock(mutex_);
    last_error_ = {};
  }
  const auto self = std::static_pointer_cast<ClientCore>(shared_from_this());
  session_ = open_client_session(RemoteTarget::executor(), url_, options_,
                                 std::shared_ptr<SessionListener>(self, this));
}

void ClientCore::take_connect(std::shared_ptr<ClientCall> call) {
  if (state_ == State::closed) return call->finish(make_error_code(Errc::shutting_down));
  if (state_ == State::open) return call->finish({});
  waiting_connects_.push_back(std::move(call));
  want_connection();
}

void ClientCore::take_submit(const StreamPtr& stream) {
  if (state_ == State::closed) return stream->refuse(closed_error());
  if (state_ == State::open) return send_submit(stream);
  waiting_submits_.push_back(stream);
  want_connection();
}

void ClientCore::send_submit(const StreamPtr& stream) {
  if (stream->cancelled()) {  // Nobody waits for it any more.
    return stream->refuse(ErrorInfo{Errc::internal, "cancelled before it was sent", {}, 0});
  }
  const std::size_t limit = hello_ ? hello_->max_body : 0;
  if (limit > 0 && stream->submit_bytes() > limit) {
    return stream->refuse(ErrorInfo{
        Errc::invalid_request,
        fmt::format("the request has {} bytes as JSON; the server takes at most {} (--max-body)",
                    stream->submit_bytes(), limit),
        "prompt", 0});
  }
  streams_.emplace(stream->id(), stream);
  session_->send(stream->take_submit());
}

void ClientCore::send_changes() {
  if (state_ != State::open) {
    // Before the submit is sent only a cancellation means anything, and send_submit() looks at it.
    if (state_ != State::connecting) changed_.clear();
    return;
  }
  std::vector<StreamPtr> rest;
  for (StreamPtr& stream : changed_) {
    if (!streams_.contains(stream->id())) continue;
    const bool room = session_->unsent_bytes() < kMaxUnsentBytes;
    if (!room || !send_change(*stream)) rest.push_back(std::move(stream));
  }
  changed_ = std::move(rest);
}

/// False when there is more to send.
bool ClientCore::send_change(RemoteStream& stream) {
  stream.clear_changed();
  if (stream.cancelled()) {
    session_->send(cancel_frame(stream.id()));
    return true;
  }
  const std::uint32_t credit = stream.take_credit(kMaxCredit);
  if (credit > 0) session_->send(credit_frame(stream.id(), credit));
  return credit < kMaxCredit;
}

void ClientCore::take_close() {
  if (std::exchange(state_, State::closed) == State::closed) return;
  if (const auto session = std::exchange(session_, nullptr)) session->close(kNormalClose, {});
  end_all(FinishReason::shutdown, closed_error(), make_error_code(Errc::shutting_down));
}

/// The context has ended; streams on other contexts hear why.
void ClientCore::abandoned() noexcept {
  try {
    // Its pending operations, which the context destroys, hold it as well.
    session_.reset();
    state_ = State::closed;
    Inbox inbox;
    {
      const std::lock_guard lock(mutex_);
      inbox = std::exchange(inbox_, {});
    }
    std::move(inbox.connects.begin(), inbox.connects.end(), std::back_inserter(waiting_connects_));
    std::move(inbox.submits.begin(), inbox.submits.end(), std::back_inserter(waiting_submits_));
    const ErrorInfo info{Errc::connection_lost, "the client's execution context has ended", {}, 0};
    end_all(FinishReason::error, info, make_error_code(Errc::connection_lost));
  } catch (...) {  // Out of memory, while the context goes: nobody can be told.
  }
}

void ClientCore::end_all(FinishReason reason, const ErrorInfo& info, error_code error) {
  changed_.clear();
  for (const auto& call : std::exchange(waiting_connects_, {})) call->finish(error);
  for (const auto& stream : std::exchange(waiting_submits_, {})) stream->refuse(info);
  for (const auto& [id, stream] : std::exchange(streams_, {})) stream->fail(reason, info);
}

// --- what the session says ---

void ClientCore::session_text(std::string_view text) {
  std::string why;
  auto frame = reader_.read(text, why);
  if (!frame) return break_off("the server sent " + why);
  if (state_ == State::connecting) return on_hello(*frame);
  on_stream_frame(*frame);
}

void ClientCore::on_hello(RemoteFrame& frame) {
  if (frame.type != RemoteFrame::Type::hello || frame.protocol != kSubprotocol) {
    return break_off("this is no tickertape.v1 server: its first message was no hello");
  }
  {
    const std::lock_guard lock(mutex_);
    hello_ = std::move(frame.hello);
  }
  state_ = State::open;
  for (const auto& call : std::exchange(waiting_connects_, {})) call->finish({});
  for (const auto& stream : std::exchange(waiting_submits_, {})) send_submit(stream);
  send_changes();
}

void ClientCore::on_stream_frame(RemoteFrame& frame) {
  const auto found = streams_.find(std::string(frame.id));
  if (found == streams_.end()) return;  // Not for us, or for a generation that has ended.
  const StreamPtr stream = found->second;
  using Type = RemoteFrame::Type;
  const bool before = !stream->is_accepted();
  bool fits = true;
  switch (frame.type) {
    case Type::accepted:
      fits = before;
      if (fits) stream->on_accepted(std::move(frame.accepted));
      break;
    case Type::token:
      fits = stream->on_token(std::move(frame.token));
      break;
    case Type::notice:
      stream->on_notice(frame.notice);
      break;
    case Type::done:
      return on_done(stream, frame);
    case Type::error:
      if (!before) return;  // It concerns one of our frames, not the generation.
      streams_.erase(found);
      stream->refuse(std::move(frame.error));
      break;
    default:
      break;
  }
  if (!fits) break_off("the server sent a frame that does not fit its generation");
}

void ClientCore::on_done(const StreamPtr& stream, RemoteFrame& frame) {
  bool fits = stream->on_choice_done(frame.index, std::move(frame.choice));
  if (fits && frame.is_final) {
    fits = stream->on_end(std::move(frame.end));
    if (fits) streams_.erase(stream->id());
  }
  if (!fits) break_off("the server sent a done frame that does not fit its generation");
}

void ClientCore::session_written() {
  if (!changed_.empty()) send_changes();
}

void ClientCore::session_ended(error_code error, std::string why) {
  session_.reset();
  lost(error, why);
}

/// The server does not speak our protocol.
void ClientCore::break_off(const std::string& why) {
  if (const auto session = std::exchange(session_, nullptr)) {
    session->close(kProtocolError, "not tickertape.v1");
  }
  lost(make_error_code(Errc::connection_lost), why);
}

void ClientCore::lost(error_code error, const std::string& why) {
  const bool was_open = std::exchange(state_, State::idle) == State::open;
  const ErrorInfo info{Errc::connection_lost,
                       (was_open ? "the connection to " : "no connection to ") + url_.text() +
                           (was_open ? " was lost: " : ": ") + why,
                       {},
                       0};
  {
    const std::lock_guard lock(mutex_);
    last_error_ = info;
  }
  end_all(FinishReason::error, info, error);
}

}  // namespace tickertape::net
