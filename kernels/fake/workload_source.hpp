// Workload::Source: what one kind of workload draws.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <tickertape/workload.hpp>

namespace tickertape {

class Workload::Source {
 public:
  virtual ~Source() = default;
  /// 0 = as many as are asked for.
  [[nodiscard]] virtual std::size_t natural_size() const noexcept { return 0; }
  /// Everything of request `index` but its index and, unless it is given, its arrival.
  [[nodiscard]] virtual WorkloadRequest draw(std::uint64_t seed, std::uint64_t index) const = 0;
  /// The request itself, where it is more than numbers.
  [[nodiscard]] virtual std::optional<Request> given(std::uint64_t index) const {
    static_cast<void>(index);
    return std::nullopt;
  }
};

namespace kernels::fake {

/// A .jsonl file of requests. Throws Error(Errc::invalid_request) naming file, line and field.
[[nodiscard]] std::shared_ptr<const Workload::Source> open_workload_file(const std::string& path);

}  // namespace kernels::fake
}  // namespace tickertape
