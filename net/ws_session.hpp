// start_websocket: hands a connection over to a WebSocket session.
#pragma once
#include <boost/asio/ip/tcp.hpp>
#include <memory>

#include "net/server_state.hpp"
#include "net/upgrade.hpp"

namespace tickertape::net {

/// Answers the upgrade and serves tickertape.v1 until the connection ends. REQUIRES: `request`
/// passed check_upgrade and nothing was read beyond it.
void start_websocket(std::shared_ptr<ServerState> state, boost::asio::ip::tcp::socket socket,
                     const UpgradeRequest& request);

}  // namespace tickertape::net
