// Server: the listener, and the life of all connections.
#include <tickertape/server.hpp>

#include <netinet/tcp.h>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <utility>
#include <vector>

#include "net/deadline.hpp"
#include "net/http_session.hpp"
#include "net/server_state.hpp"

namespace tickertape {
namespace {

namespace asio = boost::asio;
using tcp = asio::ip::tcp;

/// Connections beyond max_connections that are answered with 503; further ones wait unaccepted.
constexpr std::size_t kMaxRefusedConnections = 64;
/// Pause after a failed accept (no file descriptors, for instance): long enough to cost nothing.
constexpr std::chrono::milliseconds kAcceptPause{50};
/// Bytes that the kernel may hold unsent. What a client does not read stays visible to us so.
constexpr int kMaxUnsentBytes = 32 << 10;
/// After the drain deadline the last frames have this long to go out.
constexpr std::chrono::seconds kLastFrames{6};

Error refuse_address(const std::string& what) {
  return Error(ErrorInfo{Errc::invalid_request, what, "host", 0});
}

tcp::endpoint resolve(const asio::any_io_executor& executor, const ServerOptions& options) {
  error_code error;
  const auto address = asio::ip::make_address(options.host, error);
  if (!error) return {address, options.port};
  tcp::resolver resolver(executor);
  const auto found =
      resolver.resolve(options.host, std::to_string(options.port), tcp::resolver::passive, error);
  if (error || found.empty()) {
    throw refuse_address("--host " + options.host + " is not an address of this machine");
  }
  return found.begin()->endpoint();
}

void configure(tcp::socket& socket) {
  error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  using UnsentLimit = asio::detail::socket_option::integer<IPPROTO_TCP, TCP_NOTSENT_LOWAT>;
  socket.set_option(UnsentLimit(kMaxUnsentBytes), ignored);
}

}  // namespace

namespace net {

RouteContext ServerState::context() const {
  RouteContext out;
  out.model_name = model_name;
  out.stats = engine->stats();
  out.gauges.open_connections = connections.size();
  out.started_s = started_s;
  out.loopback = loopback;
  out.draining = draining;
  return out;
}

}  // namespace net

class Server::Impl : public std::enable_shared_from_this<Server::Impl> {
 public:
  Impl(const asio::any_io_executor& executor, Engine& engine, ServerOptions options)
      : state_(std::make_shared<net::ServerState>(executor, engine, std::move(options))),
        acceptor_(executor),
        accept_timer_(executor),
        drain_timer_(executor) {
    state_->started_s = std::chrono::duration_cast<std::chrono::seconds>(
                            std::chrono::system_clock::now().time_since_epoch())
                            .count();
    listen();
  }

  void start() {
    state_->on_change = [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->changed();
    };
    accept();
  }

  void drain(std::function<void()> done);
  void stop();

  [[nodiscard]] const tcp::endpoint& endpoint() const noexcept { return endpoint_; }
  [[nodiscard]] std::size_t num_connections() const { return state_->connections.size(); }

 private:
  void listen();
  void accept();
  void acceptable(error_code error);
  void pause_accepting();
  void changed();
  void drain_deadline(error_code error);
  void finish_drain();

  /// The living connections, held, so that any of them may end meanwhile.
  [[nodiscard]] std::vector<std::shared_ptr<net::Connection>> connections() const {
    std::vector<std::shared_ptr<net::Connection>> out;
    for (net::Connection* connection : state_->connections) {
      if (auto alive = connection->weak_from_this().lock()) out.push_back(std::move(alive));
    }
    return out;
  }

  std::shared_ptr<net::ServerState> state_;
  tcp::acceptor acceptor_;
  asio::steady_timer accept_timer_;
  asio::steady_timer drain_timer_;
  tcp::endpoint endpoint_;
  std::function<void()> drained_;
  bool accepting_ = false;  ///< The acceptor is being waited for.
  bool ended_all_ = false;  ///< The drain deadline has passed.
};

void Server::Impl::listen() {
  const ServerOptions& options = state_->options;
  const tcp::endpoint wanted = resolve(acceptor_.get_executor(), options);
  state_->loopback = wanted.address().is_loopback();
  if (!state_->loopback && !options.allow_anonymous) {
    throw refuse_address("--host " + options.host +
                         " listens beyond loopback without keys: use a loopback address, or say "
                         "--allow-anonymous");
  }
  const auto check = [&](error_code error) {
    if (!error) return;
    throw refuse_address("cannot listen on --host " + options.host + " --port " +
                         std::to_string(options.port) + ": " + error.message());
  };
  error_code error;
  acceptor_.open(wanted.protocol(), error);
  check(error);
  acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
  check(error);
  acceptor_.bind(wanted, error);
  check(error);
  acceptor_.listen(asio::socket_base::max_listen_connections, error);
  check(error);
  acceptor_.non_blocking(true, error);
  check(error);
  endpoint_ = acceptor_.local_endpoint(error);
  check(error);
}

void Server::Impl::accept() {
  if (accepting_ || !acceptor_.is_open()) return;
  // The cap counts those that are being refused as well; changed() comes back here.
  if (num_connections() >= state_->options.max_connections + kMaxRefusedConnections) return;
  // Waits and then accepts, since an async_accept that finds no memory for the new socket throws
  // out of run() and forgets its handler.
  acceptor_.async_wait(
      tcp::acceptor::wait_read,
      asio::bind_executor(state_->executor, [self = shared_from_this()](error_code error) {
        self->accepting_ = false;
        self->acceptable(error);
      }));
  accepting_ = true;
}

void Server::Impl::acceptable(error_code error) {
  if (!acceptor_.is_open()) return;
  if (error) return pause_accepting();
  try {
    tcp::socket socket = acceptor_.accept(state_->executor, error);
    if (error == asio::error::would_block) return accept();  // The client has gone already.
    if (error) return pause_accepting();
    configure(socket);
    const bool full = num_connections() >= state_->options.max_connections;
    net::start_http(state_, std::move(socket), full);
  } catch (...) {
    return pause_accepting();  // Out of memory: this connection is lost, the next may not be.
  }
  accept();
}

void Server::Impl::pause_accepting() {
  accept_timer_.expires_after(kAcceptPause);
  accept_timer_.async_wait(
      asio::bind_executor(state_->executor, [self = shared_from_this()](error_code error) {
        if (!error) self->accept();
      }));
}

void Server::Impl::changed() {
  if (state_->draining && state_->num_websockets == 0) finish_drain();
  accept();
}

void Server::Impl::drain(std::function<void()> done) {
  drained_ = std::move(done);
  state_->draining = true;
  const auto limit = net::to_duration(state_->options.drain_timeout_s);
  drain_timer_.expires_after(limit);
  drain_timer_.async_wait(asio::bind_executor(
      state_->executor,
      [self = shared_from_this()](error_code error) { self->drain_deadline(error); }));
  for (const auto& connection : connections()) connection->drain();
  changed();
}

/// First the generations are ended; what is left some seconds later is not waited for.
void Server::Impl::drain_deadline(error_code error) {
  if (error) return;
  if (std::exchange(ended_all_, true)) return finish_drain();
  for (const auto& connection : connections()) connection->end_generations();
  drain_timer_.expires_after(kLastFrames);
  drain_timer_.async_wait(asio::bind_executor(
      state_->executor,
      [self = shared_from_this()](error_code again) { self->drain_deadline(again); }));
}

void Server::Impl::finish_drain() {
  drain_timer_.cancel();
  if (auto done = std::exchange(drained_, nullptr)) asio::post(state_->executor, std::move(done));
}

void Server::Impl::stop() {
  error_code ignored;
  acceptor_.close(ignored);
  accept_timer_.cancel();
  drain_timer_.cancel();
  state_->on_change = nullptr;
  for (const auto& connection : connections()) connection->stop();
  state_->engine = nullptr;
}

Server::Server(asio::any_io_executor executor, Engine& engine, ServerOptions options)
    : impl_(std::make_shared<Impl>(executor, engine, std::move(options))) {}

Server::~Server() {
  impl_->stop();
}

void Server::start() {
  impl_->start();
}

std::uint16_t Server::port() const noexcept {
  return impl_->endpoint().port();
}

std::string Server::url() const {
  const auto address = impl_->endpoint().address();
  const std::string host = address.is_v6() ? "[" + address.to_string() + "]" : address.to_string();
  return "http://" + host + ":" + std::to_string(port());
}

std::size_t Server::num_connections() const {
  return impl_->num_connections();
}

void Server::drain(std::function<void()> done) {
  impl_->drain(std::move(done));
}

void Server::stop() {
  impl_->stop();
}

}  // namespace tickertape
