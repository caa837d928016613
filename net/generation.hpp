// Generation: one living submit of a WebSocket client.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <tickertape/token_stream.hpp>

namespace tickertape::net {

/// From the submit frame to the done frame, or to the error frame that refuses it.
struct Generation {
  Generation(std::string client_id, std::string client_quoted_id, bool is_auto_credit,
             std::uint32_t num_choices)
      : id(std::move(client_id)),
        quoted_id(std::move(client_quoted_id)),
        left(num_choices),
        auto_credit(is_auto_credit) {}

  std::string id;
  std::string quoted_id;     ///< As JSON text.
  TokenStream stream;        ///< Empty until the engine has answered.
  std::vector<Token> ready;  ///< Read and not yet written as frames, from `next` on.
  std::size_t next = 0;
  std::uint32_t left;           ///< Choices without a done frame.
  std::vector<bool> has_ended;  ///< By choice, once accepted: it had its done frame.
  bool told_end = false;        ///< The stream has ended; the done frames wait for room.
  bool auto_credit;             ///< A written token frame gives its credit back.
  bool accepted = false;        ///< The accepted frame is queued.
  bool cancel_wanted = false;   ///< Cancelled before the engine had answered.
  bool ended_by_us = false;     ///< It ends as `shutdown`.
  bool dropped = false;         ///< The connection wants to hear no more of it.
};

}  // namespace tickertape::net
