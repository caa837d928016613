// Host and Origin: is the one who speaks to us somebody who means to?
#pragma once
#include <span>
#include <string>
#include <string_view>

namespace tickertape::net {

/// True for "localhost", an address of 127.0.0.0/8 or [::1], each with or without a port. A page of
/// another site that had its name resolve to 127.0.0.1 (DNS rebinding) sends its own name instead.
[[nodiscard]] bool is_loopback_host(std::string_view host);

/// True when `origin` is the page of the server that `host` names, or one of `allowed` ("*" allows
/// all). Browsers send Origin with every WebSocket and let any page open one.
[[nodiscard]] bool is_allowed_origin(std::string_view origin, std::string_view host,
                                     std::span<const std::string> allowed);

/// ASCII letters made small.
[[nodiscard]] std::string lower_case(std::string_view text);

}  // namespace tickertape::net
