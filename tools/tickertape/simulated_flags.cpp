// SimulatedFlags: the device and the model shape of the simulated backend.
#include "tools/tickertape/simulated_flags.hpp"

#include "tools/tickertape/values.hpp"

namespace tickertape::program {
namespace {

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += name + ", ";
  return text + "or a .json file";
}

/// A measured figure is what kernels reach: nothing is taken off.
void replace(const std::optional<double>& figure, double unit, std::uint64_t& target,
             std::uint32_t* percent) {
  if (!figure) return;
  target = static_cast<std::uint64_t>(*figure * unit);
  if (percent != nullptr) *percent = 100;
}

void replace(const std::optional<double>& us, std::int64_t& target_ns) {
  constexpr double kNsPerUs = 1000;
  if (us) target_ns = static_cast<std::int64_t>(*us * kNsPerUs);
}

}  // namespace

void SimulatedFlags::check() const {
  const auto is_file = [](const std::string& name) {
    return name.ends_with(".json") || name.find('/') != std::string::npos;
  };
  if (!is_file(device)) as_wrong_words("--device", [&] { static_cast<void>(find_device(device)); });
  if (!is_file(shape)) {
    as_wrong_words("--model-shape", [&] { static_cast<void>(find_model_shape(shape)); });
  }
}

SimulatedOptions SimulatedFlags::options() const {
  constexpr double kGiga = 1e9;
  constexpr double kTera = 1e12;
  SimulatedOptions options{find_device(device), find_model_shape(shape)};
  replace(bandwidth_gb_s, kGiga, options.device.bytes_per_s, &options.device.bytes_percent);
  replace(tflops, kTera, options.device.flops_per_s, &options.device.flops_percent);
  replace(link_gb_s, kGiga, options.device.link_bytes_per_s, nullptr);
  replace(pass_us, options.device.pass_ns);
  replace(layer_us, options.device.layer_ns);
  if (weight_bits) options.shape.weight_bits = *weight_bits;
  return options;
}

void add_simulated_flags(CLI::App& command, SimulatedFlags& flags) {
  CLI::Option_group& group = *command.add_option_group(
      "Simulated device", "For the simulated backend: passes take time and compute nothing");
  add_option(group, "--device", flags.device, listed(device_names()));
  add_option(group, "--model-shape", flags.shape, listed(model_shape_names()));
  const auto figure = [&](const char* name, std::optional<double>& target, const char* help) {
    add_option(group, name, target, help)->check(in_range(1e-6, 1e6))->default_str("the device's");
  };
  figure("--device-bandwidth", flags.bandwidth_gb_s, "Measured memory bandwidth, in GB/s");
  figure("--device-tflops", flags.tflops, "Measured matrix operations, in TFLOP/s");
  figure("--device-link", flags.link_gb_s, "Rate of swaps, in GB/s");
  add_option(group, "--device-pass-us", flags.pass_us, "Fixed time of a pass, in microseconds")
      ->check(in_range(0, 1e9))
      ->default_str("the device's");
  add_option(group, "--device-layer-us", flags.layer_us, "Fixed time of a layer, in microseconds")
      ->check(in_range(0, 1e9))
      ->default_str("the device's");
  add_option(group, "--weight-bits", flags.weight_bits, "Bits of a weight, scales included")
      ->check(in_range(1, 64))
      ->default_str("the shape's");
}

}  // namespace tickertape::program
