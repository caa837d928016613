// Host and Origin: comparisons only, no look-up of names.
#include "net/host_check.hpp"

#include <algorithm>
#include <boost/asio/ip/address.hpp>

namespace tickertape::net {
namespace {

/// "name:port", "[v6]:port" -> the name or address; empty if malformed.
std::string_view without_port(std::string_view host) {
  if (host.starts_with('[')) {
    const auto end = host.find(']');
    return end == std::string_view::npos ? std::string_view() : host.substr(1, end - 1);
  }
  return host.substr(0, host.find(':'));
}

}  // namespace

std::string lower_case(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return out;
}

bool is_loopback_host(std::string_view host) {
  std::string name = lower_case(without_port(host));
  if (name.ends_with('.')) name.pop_back();
  if (name == "localhost") return true;
  boost::system::error_code error;
  const auto address = boost::asio::ip::make_address(name, error);
  return !error && address.is_loopback();
}

bool is_allowed_origin(std::string_view origin, std::string_view host,
                       std::span<const std::string> allowed) {
  const std::string given = lower_case(origin);
  const std::string own = lower_case(host);
  if (given == "http://" + own || given == "https://" + own) return true;
  return std::any_of(allowed.begin(), allowed.end(), [&](const std::string& entry) {
    return entry == "*" || lower_case(entry) == given;
  });
}

}  // namespace tickertape::net
