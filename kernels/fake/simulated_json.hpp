// Devices and model shapes that stand in JSON files.
#pragma once
#include <string>

#include <tickertape/simulated.hpp>

namespace tickertape::kernels::fake {

/// Throw Error(Errc::invalid_request) naming the file and the member at fault.
[[nodiscard]] SimulatedDevice load_device(const std::string& path);
[[nodiscard]] ModelShape load_shape(const std::string& path);

}  // namespace tickertape::kernels::fake
