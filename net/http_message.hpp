// HttpRequest and HttpReply: what routes see of HTTP, free of any HTTP library.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tickertape::net {

struct HttpRequest {
  std::string method;
  std::string target;  ///< As it stands in the request line.
  std::optional<std::string> host;
  bool many_hosts = false;
  bool may_lack_host = false;  ///< HTTP/1.0, which no browser speaks.
};

struct HttpReply {
  int status = 200;
  std::string content_type;
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
};

/// The OpenAI error object with its status. `param` and `code` are null when empty.
[[nodiscard]] HttpReply error_reply(int status, std::string_view message,
                                    std::string_view param = {}, std::string_view code = {});

}  // namespace tickertape::net
