// TinyLlama: a random llama model of any weight type, as the bytes of a GGUF file.
#pragma once
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <tickertape/model.hpp>

#include "kernels/cpu/half.hpp"
#include "kernels/formats/ggml_type.hpp"
#include "tests/unit/formats/gguf_builder.hpp"
#include "tests/unit/formats/temp_file.hpp"

namespace tickertape::test {

/// Numbers of [-1, 1) that are the same with every standard library.
class RandomNumbers {
 public:
  explicit RandomNumbers(std::uint64_t seed) : engine_(seed) {}
  [[nodiscard]] std::uint64_t bits() { return engine_(); }
  [[nodiscard]] float symmetric() {
    return static_cast<float>(static_cast<std::int32_t>(engine_() >> 32)) * 0x1p-31F;
  }

 private:
  std::mt19937_64 engine_;
};

template <class T>
void append_bytes(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

/// Random rows of a type as a file has them, numbers about in [-amplitude, amplitude].
inline std::string random_tensor(kernels::formats::GgmlType type, std::uint64_t num_elements,
                                 float amplitude, RandomNumbers& random) {
  using kernels::formats::GgmlType;
  std::string bytes;
  const auto scale = [&](float steps) {
    return kernels::cpu::float_to_f16(amplitude / steps * (1 + random.symmetric() / 2));
  };
  const auto fill = [&](int count) {
    for (int i = 0; i < count; i += 8) append_bytes(bytes, random.bits());
  };
  const bool blocks = type == GgmlType::q8_0 || type == GgmlType::q4_0 || type == GgmlType::q4_1;
  for (std::uint64_t i = 0; i < num_elements; i += blocks ? 32 : 1) {
    const float x = blocks ? 0 : random.symmetric() * amplitude;
    switch (type) {
      case GgmlType::f16:
        append_bytes(bytes, kernels::cpu::float_to_f16(x));
        break;
      case GgmlType::bf16:
        append_bytes(bytes, kernels::cpu::float_to_bf16(x));
        break;
      case GgmlType::q8_0:
        append_bytes(bytes, scale(127));
        fill(32);
        break;
      case GgmlType::q4_0:
        append_bytes(bytes, scale(8));
        fill(16);
        break;
      case GgmlType::q4_1:
        append_bytes(bytes, scale(7.5F));
        append_bytes(bytes, kernels::cpu::float_to_f16(-amplitude * (1 + random.symmetric() / 8)));
        fill(16);
        break;
      default:
        append_bytes(bytes, x);
        break;
    }
  }
  return bytes;
}

/// What is written; a test changes one thing to make a file that must be refused.
struct TinyLlama {
  struct Override {
    std::optional<std::vector<std::uint64_t>> dims;
    std::optional<kernels::formats::GgmlType> type;
    std::optional<std::string> data;
  };

  kernels::formats::GgmlType type = kernels::formats::GgmlType::f32;
  std::uint32_t num_layers = 2;
  std::uint32_t width = 64;
  std::uint32_t ffn_size = 96;
  std::uint32_t num_heads = 4;
  std::uint32_t num_kv_heads = 2;
  std::uint32_t vocab_size = 300;
  std::uint32_t context_length = 1024;
  bool tied = true;
  std::uint64_t seed = 1;
  std::string architecture = "llama";
  std::set<std::string> without;              ///< Keys and tensors that are left out.
  std::map<std::string, Override> overrides;  ///< Tensors that are written differently.
  std::function<void(GgufBuilder&)> add;      ///< More keys and tensors.
};

/// Writes keys and tensors in order; leaves out and changes what the TinyLlama says.
class TinyLlamaWriter {
 public:
  explicit TinyLlamaWriter(const TinyLlama& llama) : llama_(llama), random_(llama.seed) {}

  std::string write() {
    write_keys();
    tensor("token_embd.weight", llama_.type, {llama_.width, llama_.vocab_size}, 1.0F);
    if (!llama_.tied) matrix("output.weight", llama_.vocab_size, llama_.width);
    norm("output_norm.weight");
    const std::uint32_t kv_size = llama_.width / llama_.num_heads * llama_.num_kv_heads;
    for (std::uint32_t i = 0; i < llama_.num_layers; ++i) {
      const std::string layer = "blk." + std::to_string(i) + ".";
      norm(layer + "attn_norm.weight");
      matrix(layer + "attn_q.weight", llama_.width, llama_.width);
      matrix(layer + "attn_k.weight", kv_size, llama_.width);
      matrix(layer + "attn_v.weight", kv_size, llama_.width);
      matrix(layer + "attn_output.weight", llama_.width, llama_.width);
      norm(layer + "ffn_norm.weight");
      matrix(layer + "ffn_gate.weight", llama_.ffn_size, llama_.width);
      matrix(layer + "ffn_up.weight", llama_.ffn_size, llama_.width);
      matrix(layer + "ffn_down.weight", llama_.width, llama_.ffn_size);
    }
    if (llama_.add) llama_.add(builder_);
    return builder_.build();
  }

 private:
  void write_keys() {
    if (!llama_.without.contains("general.architecture")) {
      builder_.string("general.architecture", llama_.architecture);
    }
    key("block_count", llama_.num_layers);
    key("context_length", llama_.context_length);
    key("embedding_length", llama_.width);
    key("feed_forward_length", llama_.ffn_size);
    key("attention.head_count", llama_.num_heads);
    key("attention.head_count_kv", llama_.num_kv_heads);
    const std::string epsilon = "llama.attention.layer_norm_rms_epsilon";
    if (!llama_.without.contains(epsilon)) builder_.f32(epsilon, 1e-5F);
  }
  void key(const std::string& name, std::uint32_t value) {
    if (!llama_.without.contains("llama." + name)) builder_.u32("llama." + name, value);
  }
  void norm(const std::string& name) {
    tensor(name, kernels::formats::GgmlType::f32, {llama_.width}, 1.5F);
  }
  void matrix(const std::string& name, std::uint64_t rows, std::uint64_t cols) {
    tensor(name, llama_.type, {cols, rows}, 0.25F);
  }
  void tensor(const std::string& name, kernels::formats::GgmlType type,
              std::vector<std::uint64_t> dims, float amplitude) {
    if (llama_.without.contains(name)) return;
    TinyLlama::Override changes;
    if (const auto found = llama_.overrides.find(name); found != llama_.overrides.end()) {
      changes = found->second;
    }
    type = changes.type.value_or(type);
    dims = changes.dims.value_or(std::move(dims));
    const auto& traits = kernels::formats::traits(type);
    std::uint64_t num_elements = 1;
    for (const std::uint64_t dim : dims) num_elements *= dim;
    std::string data = traits.computable
                           ? random_tensor(type, num_elements, amplitude, random_)
                           : std::string(num_elements / traits.block_size * traits.block_bytes, 0);
    builder_.tensor(name, static_cast<std::uint32_t>(type), dims, changes.data.value_or(data));
  }

  const TinyLlama& llama_;
  RandomNumbers random_;
  GgufBuilder builder_;
};

inline std::string tiny_llama_bytes(const TinyLlama& llama) {
  return TinyLlamaWriter(llama).write();
}

/// The file is unlinked at once: the model keeps it open.
inline std::shared_ptr<const Model> load_tiny_llama(const TinyLlama& llama) {
  const TempFile file(tiny_llama_bytes(llama));
  return load_model(file.path());
}

}  // namespace tickertape::test
