// The text of GET /metrics (Prometheus exposition format 0.0.4).
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include <tickertape/stats.hpp>

namespace tickertape::net {

/// What the server itself counts.
struct ServerGauges {
  std::size_t open_connections = 0;
  std::size_t open_fds = 0;  ///< Of the process; 0 = not known.
};

[[nodiscard]] std::string metrics_page(const EngineStats& stats, const ServerGauges& gauges,
                                       std::string_view model_name);

/// Open file descriptors of this process, or 0 where the system does not tell.
[[nodiscard]] std::size_t count_open_fds();

}  // namespace tickertape::net
