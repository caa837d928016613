// start_http: serves HTTP/1.1 on an accepted connection.
#pragma once
#include <boost/asio/ip/tcp.hpp>
#include <memory>

#include "net/server_state.hpp"

namespace tickertape::net {

/// Serves requests one after the other until the connection ends or becomes a WebSocket. With
/// `full` every request is refused: the server has max_connections already.
void start_http(std::shared_ptr<ServerState> state, boost::asio::ip::tcp::socket socket, bool full);

}  // namespace tickertape::net
