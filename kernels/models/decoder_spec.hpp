// DecoderSpec: what a decoder computes and which tensors it needs, whatever computes it.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace tickertape::kernels::models {

/// A tensor of the file. Its shape was checked; every type it may have has arithmetic.
struct TensorRef {
  std::string name;
  std::uint32_t rows = 0;  ///< Outputs; 1 for a vector.
  std::uint32_t cols = 0;  ///< Inputs, or the length of a vector.
};

/// Rotary position embedding (Su et al. 2021) of the first `size` numbers of every head.
/// Numbers 2i and 2i + 1 turn together, by position * position_scale * base^(-2i/size) /
/// factors[i].
struct RopeSpec {
  std::uint32_t size = 0;
  double base = 10000;
  double position_scale = 1;   ///< 1 / factor of linear scaling.
  std::vector<float> factors;  ///< Empty, or size / 2 divisors.
};

struct DecoderLayer {
  TensorRef attention_norm;
  TensorRef query;
  TensorRef key;
  TensorRef value;
  TensorRef attention_output;
  TensorRef ffn_norm;
  TensorRef ffn_gate;
  TensorRef ffn_up;
  TensorRef ffn_down;
};

/// A decoder of pre-norm blocks: x += attention(norm(x)); x += down(silu(gate(norm(x))) * up(...)).
/// Heads h of query share key/value head h * num_kv_heads / num_heads.
struct DecoderSpec {
  std::string architecture;
  std::uint32_t vocab_size = 0;      ///< Rows of the embedding: width of the logits.
  std::uint32_t num_tokens = 0;      ///< Of these are tokens; the rest is padding, never chosen.
  std::uint32_t max_model_len = 0;   ///< Positions.
  std::uint32_t embedding_size = 0;  ///< A multiple of 32.
  std::uint32_t ffn_size = 0;        ///< A multiple of 32.
  std::uint32_t num_heads = 0;
  std::uint32_t num_kv_heads = 0;
  std::uint32_t head_size = 0;  ///< A multiple of 8; num_heads * head_size is a multiple of 32.
  float norm_epsilon = 0;
  RopeSpec rope;
  TensorRef embedding;
  TensorRef output_norm;
  TensorRef output;  ///< The embedding once more when the two are tied.
  std::vector<DecoderLayer> layers;

  [[nodiscard]] std::uint32_t query_size() const noexcept { return num_heads * head_size; }
  [[nodiscard]] std::uint32_t kv_size() const noexcept { return num_kv_heads * head_size; }
};

}  // namespace tickertape::kernels::models
