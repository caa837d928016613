// Simulated: a device and a model that are nothing but their sizes and speeds.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tickertape/batch.hpp>

namespace tickertape {

class Model;

/// What of a device decides how long a pass takes.
struct SimulatedDevice {
  std::string name = "custom";
  std::uint64_t bytes_per_s = 0;       ///< Of its memory, as published.
  std::uint64_t flops_per_s = 0;       ///< Of its matrix units, dense, at 16 bits, as published.
  std::uint64_t link_bytes_per_s = 0;  ///< To the host's memory and back, each way; for swaps.
  std::uint64_t memory_bytes = 0;
  std::int64_t pass_ns = 200'000;    ///< Of every pass: launch, sampling, the host's part.
  std::int64_t layer_ns = 5'000;     ///< Of every layer: launches and what does not overlap.
  std::uint32_t bytes_percent = 90;  ///< How much of the published figure kernels reach.
  std::uint32_t flops_percent = 80;
};

/// What of a model decides it. Weights other than matrices are too few to count.
struct ModelShape {
  std::string name = "custom";
  std::uint32_t num_layers = 0;
  std::uint32_t hidden_size = 0;
  std::uint32_t num_heads = 0;
  std::uint32_t num_kv_heads = 0;
  std::uint32_t head_size = 0;
  std::uint32_t ffn_size = 0;
  std::uint32_t ffn_matrices = 3;  ///< 3 with a gate, 2 without.
  std::uint32_t vocab_size = 0;
  bool tied_embeddings = false;
  std::uint32_t weight_bits = 16;  ///< Per weight, scales included.
  std::uint32_t max_model_len = 0;

  [[nodiscard]] std::uint64_t layer_weights() const noexcept;  ///< Of all layers.
  [[nodiscard]] std::uint64_t head_weights() const noexcept;
  [[nodiscard]] std::uint64_t weight_bytes() const noexcept;  ///< In memory.
  /// Keys and values of a token; 2 bytes per number unless it says otherwise.
  [[nodiscard]] std::uint64_t kv_bytes_per_token(std::uint32_t bytes_per_number = 2) const noexcept;
};

/// Devices: a100, h100, h200, b200, cpu; shapes: see the error's message for all names. Else a JSON
/// file with the members' names (`{"num_layers": 32, ...}`; those with defaults may be left out).
/// Throw Error(Errc::invalid_request) naming what is unknown, missing or out of range.
[[nodiscard]] SimulatedDevice find_device(const std::string& name_or_file);
[[nodiscard]] ModelShape find_model_shape(const std::string& name_or_file);
[[nodiscard]] std::vector<std::string> device_names();
[[nodiscard]] std::vector<std::string> model_shape_names();

/// How long a pass takes: matrices and attention one after the other, each by its roofline
/// (Williams, Waterman, Patterson 2009): the longer of its bytes over the bandwidth and its
/// operations over the peak. Integer nanoseconds, the same everywhere.
class PassTimer {
 public:
  PassTimer(const SimulatedDevice& device, const ModelShape& shape,
            std::uint32_t kv_bytes_per_number = 2);

  [[nodiscard]] std::int64_t pass_ns(const Batch& batch) const noexcept;
  /// The same from sums over the rows: tokens; positions that give output; tokens of context read;
  /// and pairs of a token with one that it looks at.
  [[nodiscard]] std::int64_t pass_ns(std::uint64_t num_tokens, std::uint64_t num_outputs,
                                     std::uint64_t context, std::uint64_t pairs) const noexcept;
  /// Bytes copied within the device, and to or from the host.
  [[nodiscard]] std::int64_t copy_ns(std::uint64_t bytes) const noexcept;
  [[nodiscard]] std::int64_t link_ns(std::uint64_t bytes) const noexcept;
  /// Tokens in a pass from which the matrices are bound by arithmetic.
  [[nodiscard]] std::uint64_t balance_tokens() const noexcept;

 private:
  std::uint64_t bytes_per_s_;
  std::uint64_t flops_per_s_;
  std::uint64_t link_bytes_per_s_;
  std::int64_t fixed_ns_;
  std::uint64_t layer_weights_;
  std::uint64_t head_weights_;
  std::uint64_t read_bytes_;  ///< Of weights, by every pass.
  std::uint64_t kv_bytes_per_token_;
  std::uint64_t flops_per_pair_;
};

struct SimulatedOptions {
  SimulatedDevice device;
  ModelShape shape;
};

/// A model whose passes take the time that PassTimer says and compute nothing. Its backend is
/// asynchronous and works by BackendHost's clock, so it runs in real and in virtual time; swaps
/// share one link, and run beside passes that do not touch their pages.
///
/// An answer's length is decided by its seed (and its choice), which no policy looks at: an engine
/// cannot know it, only what the request declares as max_tokens. A seed from simulated_seed() means
/// that length; others stand for one of the lengths of the workload `sharegpt-like`. The answer's
/// last token is the end token. Its text is letters that mean nothing. Sampling parameters but
/// seed, min_tokens and ignore_eos have no effect.
///
/// Prompts as text have one token per byte.
/// Throws Error(Errc::invalid_request) for sizes that are 0.
[[nodiscard]] std::shared_ptr<const Model> make_simulated_model(SimulatedOptions options);

/// The seed that stands for an answer of `output_tokens` tokens, below 2^24, its end token
/// included. `index` tells requests apart and may be any number.
[[nodiscard]] std::uint64_t simulated_seed(std::uint32_t output_tokens,
                                           std::uint64_t index) noexcept;
/// The length that a seed stands for, at least 1.
[[nodiscard]] std::uint32_t simulated_output_tokens(std::uint64_t seed,
                                                    std::uint32_t choice) noexcept;

}  // namespace tickertape
