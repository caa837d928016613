// SimulatedFlags: the device and the model shape of the simulated backend.
#pragma once
#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <tickertape/simulated.hpp>

namespace tickertape::program {

struct SimulatedFlags {
  std::string device = "h200";
  std::string shape = "llama-8b";
  std::optional<double> bandwidth_gb_s;  ///< Instead of the device's own, as are the next ones.
  std::optional<double> tflops;
  std::optional<double> link_gb_s;
  std::optional<double> pass_us;
  std::optional<double> layer_us;
  std::optional<std::uint32_t> weight_bits;

  /// Throws CLI::ParseError when a name means nothing; files are opened later.
  void check() const;
  /// What they say. Throws Error naming what is not known.
  [[nodiscard]] SimulatedOptions options() const;
};

void add_simulated_flags(CLI::App& command, SimulatedFlags& flags);

}  // namespace tickertape::program
