// Devices and model shapes by name, with the sources of their figures.
#include <algorithm>
#include <array>
#include <tickertape/errors.hpp>
#include <tickertape/simulated.hpp>

#include "kernels/fake/simulated_json.hpp"

namespace tickertape {
namespace {

constexpr std::uint64_t kGiga = 1'000'000'000;
constexpr std::uint64_t kTera = 1'000 * kGiga;
constexpr std::uint64_t kGiB = 1ULL << 30;

SimulatedDevice make_device(const char* name, std::uint64_t bytes_per_s, std::uint64_t flops_per_s,
                            std::uint64_t link_bytes_per_s, std::uint64_t memory_bytes) {
  SimulatedDevice device;
  device.name = name;
  device.bytes_per_s = bytes_per_s;
  device.flops_per_s = flops_per_s;
  device.link_bytes_per_s = link_bytes_per_s;
  device.memory_bytes = memory_bytes;
  return device;
}

/// Figures of NVIDIA's data sheets: A100 80GB SXM (2021), H100 SXM (2023), H200 SXM (2024), HGX
/// B200 (2024): memory bandwidth, dense BF16 tensor operations, one direction of PCIe 4.0 or 5.0
/// x16, and memory. That kernels reach 90 and 80 % of the first two was seen on an H200.
std::vector<SimulatedDevice> make_devices() {
  std::vector<SimulatedDevice> devices{
      make_device("a100", 2'039 * kGiga, 312 * kTera, 32 * kGiga, 80 * kGiga),
      make_device("h100", 3'350 * kGiga, 989 * kTera, 64 * kGiga, 80 * kGiga),
      make_device("h200", 4'800 * kGiga, 989 * kTera, 64 * kGiga, 141 * kGiga),
      make_device("b200", 8'000 * kGiga, 2'250 * kTera, 64 * kGiga, 180 * kGiga),
  };
  // Two cores with AVX2 as they were measured, so nothing is taken off: memory 36 GB/s, products of
  // quantized weights about 0.3 TOPS; swapping is a copy in the same memory.
  SimulatedDevice cpu = make_device("cpu", 36 * kGiga, 300 * kGiga, 8 * kGiga, 4 * kGiB);
  cpu.pass_ns = 100'000;
  cpu.layer_ns = 10'000;
  cpu.bytes_percent = 100;
  cpu.flops_percent = 100;
  devices.push_back(cpu);
  return devices;
}

/// layers, hidden, heads, K and V heads, head size, feed-forward size, vocabulary, context.
ModelShape make_shape(const char* name, const std::array<std::uint32_t, 8>& sizes) {
  ModelShape shape;
  shape.name = name;
  shape.num_layers = sizes[0];
  shape.hidden_size = sizes[1];
  shape.num_heads = sizes[2];
  shape.num_kv_heads = sizes[3];
  shape.head_size = sizes[4];
  shape.ffn_size = sizes[5];
  shape.vocab_size = sizes[6];
  shape.max_model_len = sizes[7];
  return shape;
}

/// From the papers and configuration files that were published with the models: LLaMA and Llama 2
/// (Touvron et al. 2023), Llama 3 (2024), OPT (Zhang et al. 2022), SmolLM2 (2025).
std::vector<ModelShape> make_shapes() {
  std::vector<ModelShape> shapes{
      make_shape("llama-7b", {32, 4096, 32, 32, 128, 11008, 32000, 4096}),
      make_shape("llama-13b", {40, 5120, 40, 40, 128, 13824, 32000, 4096}),
      make_shape("llama-1b", {16, 2048, 32, 8, 64, 8192, 128256, 131072}),
      make_shape("llama-8b", {32, 4096, 32, 8, 128, 14336, 128256, 131072}),
      make_shape("llama-70b", {80, 8192, 64, 8, 128, 28672, 128256, 131072}),
      make_shape("opt-13b", {40, 5120, 40, 40, 128, 20480, 50272, 2048}),
      make_shape("smollm2-135m", {30, 576, 9, 3, 64, 1536, 49152, 8192}),
  };
  for (ModelShape& shape : shapes) {
    shape.tied_embeddings =
        shape.name == "llama-1b" || shape.name == "opt-13b" || shape.name == "smollm2-135m";
    if (shape.name == "opt-13b") shape.ffn_matrices = 2;
    if (shape.name == "smollm2-135m") shape.weight_bits = 5;  // Q4_1 with its scales.
  }
  return shapes;
}

template <class Named>
std::vector<std::string> names_of(const std::vector<Named>& all) {
  std::vector<std::string> names;
  for (const Named& one : all) names.push_back(one.name);
  return names;
}

/// The one of `all` that `name` names, or none when it names a file.
template <class Named>
const Named* find_named(const std::vector<Named>& all, const std::string& name, const char* what) {
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Named& one) { return one.name == name; });
  if (found != all.end()) return &*found;
  if (name.ends_with(".json") || name.find('/') != std::string::npos) return nullptr;
  std::string known;
  for (const std::string& one : names_of(all)) known += one + ", ";
  throw Error(ErrorInfo{
      Errc::invalid_request,
      std::string(what) + ": '" + name + "' is none of " + known + "or a .json file", what, 0});
}

const std::vector<SimulatedDevice>& devices() {
  static const std::vector<SimulatedDevice> all = make_devices();
  return all;
}

const std::vector<ModelShape>& shapes() {
  static const std::vector<ModelShape> all = make_shapes();
  return all;
}

}  // namespace

std::uint64_t ModelShape::layer_weights() const noexcept {
  const std::uint64_t hidden = hidden_size;
  const std::uint64_t qkv = std::uint64_t{head_size} * (num_heads + 2 * num_kv_heads);
  const std::uint64_t out = std::uint64_t{head_size} * num_heads;
  const std::uint64_t ffn = std::uint64_t{ffn_matrices} * ffn_size;
  return num_layers * hidden * (qkv + out + ffn);
}

std::uint64_t ModelShape::head_weights() const noexcept {
  return std::uint64_t{hidden_size} * vocab_size;
}

std::uint64_t ModelShape::weight_bytes() const noexcept {
  const std::uint64_t tables = tied_embeddings ? 1 : 2;
  return (layer_weights() + tables * head_weights()) * weight_bits / 8;
}

std::uint64_t ModelShape::kv_bytes_per_token(std::uint32_t bytes_per_number) const noexcept {
  constexpr std::uint64_t kKeyAndValue = 2;
  return kKeyAndValue * bytes_per_number * num_layers * num_kv_heads * head_size;
}

SimulatedDevice find_device(const std::string& name_or_file) {
  const SimulatedDevice* found = find_named(devices(), name_or_file, "device");
  return found != nullptr ? *found : kernels::fake::load_device(name_or_file);
}

ModelShape find_model_shape(const std::string& name_or_file) {
  const ModelShape* found = find_named(shapes(), name_or_file, "model-shape");
  return found != nullptr ? *found : kernels::fake::load_shape(name_or_file);
}

std::vector<std::string> device_names() {
  return names_of(devices());
}

std::vector<std::string> model_shape_names() {
  return names_of(shapes());
}

}  // namespace tickertape
