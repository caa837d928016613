// RemoteFrame: one message of a tickertape.v1 server, read and checked.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <tickertape/client.hpp>
#include <tickertape/finish.hpp>
#include <tickertape/request.hpp>

#include "net/json_document.hpp"
#include "net/remote_stream.hpp"

namespace tickertape::net {

/// Which members hold something is said by `type`.
struct RemoteFrame {
  enum class Type : std::uint8_t { hello, accepted, token, notice, done, error, other };
  Type type = Type::other;  ///< `other`: pong, tick and whatever newer servers say.
  std::string_view id;      ///< Valid until the next read(); empty where a frame has none.
  std::string protocol;     ///< hello
  ServerHello hello;
  Accepted accepted;
  Token token;
  Notice notice;
  std::uint32_t index = 0;  ///< done
  ChoiceFinish choice;      ///< done
  bool is_final = false;    ///< done
  RemoteEnd end;            ///< done, when is_final
  ErrorInfo error;          ///< error
};

/// Thread rules: one thread.
class RemoteFrameReader {
 public:
  explicit RemoteFrameReader(std::size_t max_bytes) : parser_(max_bytes) {}

  /// The frame, or nothing and in `why` what is wrong with it.
  [[nodiscard]] std::optional<RemoteFrame> read(std::string_view text, std::string& why);

 private:
  JsonParser parser_;
};

}  // namespace tickertape::net
