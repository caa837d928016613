// Client: its calls go to the core.
#include <tickertape/client.hpp>

#include <utility>

#include "net/client_core.hpp"

namespace tickertape {

Client::Client(const boost::asio::any_io_executor& executor, ClientOptions options)
    : core_(net::ClientCore::make(executor, std::move(options))) {}

Client::~Client() {
  core_->close();
}

void Client::close() {
  core_->close();
}

std::optional<ServerHello> Client::hello() const {
  return core_->hello();
}

ErrorInfo Client::last_error() const {
  return core_->last_error();
}

const ClientOptions& Client::options() const noexcept {
  return core_->options();
}

boost::asio::any_io_executor Client::get_executor() const {
  return core_->home();
}

std::shared_ptr<detail::AsyncCall> Client::prepare_connect(
    net::ClientCore& core, const boost::asio::any_io_executor& executor) {
  return core.prepare_connect(executor);
}

std::shared_ptr<detail::AsyncCall> Client::prepare_submit(
    net::ClientCore& core, const boost::asio::any_io_executor& executor, Request&& request) {
  return core.prepare_submit(executor, request);
}

}  // namespace tickertape
