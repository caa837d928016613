// The llama architecture: its keys and its tensors.
#include "kernels/models/llama.hpp"

#include <string>
#include <unordered_set>

namespace tickertape::kernels::models {
namespace {

using formats::GgufFile;
using formats::TensorInfo;

/// Collects the tensors that belong to the model, each checked as it is named.
class TensorCheck {
 public:
  explicit TensorCheck(const GgufFile& file) : file_(file) {}

  TensorRef matrix(const std::string& name, std::uint32_t rows, std::uint32_t cols) {
    const TensorInfo& info = find(name);
    if (info.num_dims != 2 || info.dims[0] != cols || info.dims[1] != rows) {
      fail_shape(info, "[" + std::to_string(cols) + ", " + std::to_string(rows) + "]");
    }
    if (!formats::traits(info.type).computable) {
      file_.fail("tensor " + name + " has type " + std::string(formats::traits(info.type).name) +
                 "; F32, F16, BF16, Q8_0, Q4_0 and Q4_1 are supported");
    }
    return {name, rows, cols};
  }

  TensorRef vector(const std::string& name, std::uint32_t size) {
    const TensorInfo& info = find(name);
    if (info.num_dims != 1 || info.dims[0] != size) {
      fail_shape(info, "[" + std::to_string(size) + "]");
    }
    if (info.type != formats::GgmlType::f32) {
      file_.fail("tensor " + name + " has type " + std::string(formats::traits(info.type).name) +
                 "; F32 is needed");
    }
    return {name, 1, size};
  }

  void refuse_others() const {
    for (const TensorInfo& info : file_.tensors()) {
      if (!used_.contains(info.name)) {
        file_.fail("tensor " + info.name + " has no place in a llama model as it is computed here");
      }
    }
  }

 private:
  const TensorInfo& find(const std::string& name) {
    used_.insert(name);
    return file_.get_tensor(name);
  }

  [[noreturn]] void fail_shape(const TensorInfo& info, const std::string& wanted) const {
    std::string shape;
    for (std::uint32_t i = 0; i < info.num_dims; ++i) {
      shape += (i == 0 ? "" : ", ") + std::to_string(info.dims[i]);
    }
    file_.fail("tensor " + info.name + " has shape [" + shape + "]; " + wanted + " is needed");
  }

  const GgufFile& file_;
  std::unordered_set<std::string> used_;
};

std::string with(std::string_view key, std::uint32_t value) {
  return "llama." + std::string(key) + " is " + std::to_string(value);
}

void refuse_what_is_not_computed(const GgufFile& file, std::uint32_t max_model_len) {
  if (file.find_u32("llama.expert_count").value_or(0) > 0) {
    file.fail("llama.expert_count is not 0: mixtures of experts are not supported");
  }
  const auto window = file.find_u32("llama.attention.sliding_window");
  if (window.value_or(0) > 0 && *window < max_model_len) {
    file.fail(with("attention.sliding_window", *window) + ": windows are not supported");
  }
  if (file.find_bool("llama.use_parallel_residual").value_or(false)) {
    file.fail("llama.use_parallel_residual is true: that is not supported");
  }
}

void read_heads(const GgufFile& file, DecoderSpec& spec) {
  spec.num_heads = file.get_u32("llama.attention.head_count", 1, 4096);
  spec.num_kv_heads =
      file.find_u32("llama.attention.head_count_kv", 1, 4096).value_or(spec.num_heads);
  if (spec.num_heads % spec.num_kv_heads != 0) {
    file.fail(with("attention.head_count", spec.num_heads) + ", no multiple of " +
              with("attention.head_count_kv", spec.num_kv_heads));
  }
  const auto key_length = file.find_u32("llama.attention.key_length", 1, 4096);
  const auto value_length = file.find_u32("llama.attention.value_length", 1, 4096);
  if (!key_length && spec.embedding_size % spec.num_heads != 0) {
    file.fail(with("embedding_length", spec.embedding_size) + ", no multiple of " +
              with("attention.head_count", spec.num_heads));
  }
  spec.head_size = key_length.value_or(spec.embedding_size / spec.num_heads);
  if (value_length.value_or(spec.head_size) != spec.head_size) {
    file.fail(with("attention.value_length", *value_length) + "; it must be the key length " +
              std::to_string(spec.head_size));
  }
  if (spec.head_size % 8 != 0 || spec.query_size() % 32 != 0) {
    file.fail(with("attention.head_count", spec.num_heads) + " and " +
              (key_length ? with("attention.key_length", spec.head_size)
                          : "the head size is " + std::to_string(spec.head_size)) +
              "; a head must be a multiple of 8 and all together of 32");
  }
}

void read_rope(const GgufFile& file, TensorCheck& tensors, DecoderSpec& spec) {
  RopeSpec& rope = spec.rope;
  rope.size = file.find_u32("llama.rope.dimension_count", 2, 4096).value_or(spec.head_size);
  if (rope.size % 2 != 0 || rope.size > spec.head_size) {
    file.fail(with("rope.dimension_count", rope.size) + "; it must be even and at most " +
              std::to_string(spec.head_size));
  }
  rope.base = file.find_f32("llama.rope.freq_base", 1.0F, 1e12F).value_or(10000.0F);
  const std::string_view scaling = file.find_string("llama.rope.scaling.type").value_or("none");
  if (scaling == "linear") {
    rope.position_scale = 1.0 / file.get_f32("llama.rope.scaling.factor", 1e-3F, 1e6F);
  } else if (scaling != "none") {
    file.fail("llama.rope.scaling.type is \"" + std::string(scaling) +
              "\"; none and linear are supported");
  } else if (const auto factor = file.find_f32("llama.rope.scale_linear", 0.0F, 1e6F)) {
    if (*factor != 0.0F) rope.position_scale = 1.0 / *factor;  // an older name, 0 = none
  }
  constexpr const char* kFactors = "rope_freqs.weight";
  if (file.find_tensor(kFactors) == nullptr) return;
  static_cast<void>(tensors.vector(kFactors, rope.size / 2));
  rope.factors.resize(rope.size / 2);
  file.read_tensor(*file.find_tensor(kFactors), std::as_writable_bytes(std::span(rope.factors)));
  for (const float factor : rope.factors) {
    if (!(factor > 0.0F && factor < 1e9F))
      file.fail("rope_freqs.weight holds a factor out of range");
  }
}

void read_vocabulary(const GgufFile& file, TensorCheck& tensors, DecoderSpec& spec) {
  constexpr const char* kEmbedding = "token_embd.weight";
  const std::uint64_t rows = file.get_tensor(kEmbedding).dims[1];
  if (rows > 0x7fffffff) file.fail("token_embd.weight has too many rows");
  spec.vocab_size = static_cast<std::uint32_t>(rows);
  spec.num_tokens = file.find_u32("llama.vocab_size", 1).value_or(spec.vocab_size);
  if (spec.num_tokens > spec.vocab_size) {
    file.fail(with("vocab_size", spec.num_tokens) + ", but token_embd.weight has " +
              std::to_string(spec.vocab_size) + " rows");
  }
  if (const auto tokens = file.find_string_array("tokenizer.ggml.tokens")) {
    if (tokens->empty() || tokens->size() > spec.vocab_size) {
      file.fail("tokenizer.ggml.tokens has " + std::to_string(tokens->size()) +
                " entries, but token_embd.weight has " + std::to_string(spec.vocab_size) + " rows");
    }
    spec.num_tokens = static_cast<std::uint32_t>(tokens->size());
  }
  spec.embedding = tensors.matrix(kEmbedding, spec.vocab_size, spec.embedding_size);
  spec.output = file.find_tensor("output.weight") == nullptr
                    ? spec.embedding
                    : tensors.matrix("output.weight", spec.vocab_size, spec.embedding_size);
}

DecoderLayer read_layer(TensorCheck& tensors, const DecoderSpec& spec, std::uint32_t index) {
  const std::string prefix = "blk." + std::to_string(index) + ".";
  const std::uint32_t width = spec.embedding_size;
  DecoderLayer layer;
  layer.attention_norm = tensors.vector(prefix + "attn_norm.weight", width);
  layer.query = tensors.matrix(prefix + "attn_q.weight", spec.query_size(), width);
  layer.key = tensors.matrix(prefix + "attn_k.weight", spec.kv_size(), width);
  layer.value = tensors.matrix(prefix + "attn_v.weight", spec.kv_size(), width);
  layer.attention_output = tensors.matrix(prefix + "attn_output.weight", width, spec.query_size());
  layer.ffn_norm = tensors.vector(prefix + "ffn_norm.weight", width);
  layer.ffn_gate = tensors.matrix(prefix + "ffn_gate.weight", spec.ffn_size, width);
  layer.ffn_up = tensors.matrix(prefix + "ffn_up.weight", spec.ffn_size, width);
  layer.ffn_down = tensors.matrix(prefix + "ffn_down.weight", width, spec.ffn_size);
  return layer;
}

}  // namespace

DecoderSpec read_llama_spec(const GgufFile& file) {
  DecoderSpec spec;
  TensorCheck tensors(file);
  spec.architecture = "llama";
  spec.max_model_len = file.get_u32("llama.context_length", 1, 1U << 24);
  refuse_what_is_not_computed(file, spec.max_model_len);
  spec.embedding_size = file.get_u32("llama.embedding_length", 32, 1U << 16);
  spec.ffn_size = file.get_u32("llama.feed_forward_length", 32, 1U << 18);
  if (spec.embedding_size % 32 != 0 || spec.ffn_size % 32 != 0) {
    file.fail(with("embedding_length", spec.embedding_size) + " and " +
              with("feed_forward_length", spec.ffn_size) + "; both must be multiples of 32");
  }
  spec.norm_epsilon = file.get_f32("llama.attention.layer_norm_rms_epsilon", 0.0F, 1.0F);
  read_heads(file, spec);
  read_rope(file, tensors, spec);
  read_vocabulary(file, tensors, spec);
  const std::uint32_t num_layers = file.get_u32("llama.block_count", 1, 1024);
  for (std::uint32_t i = 0; i < num_layers; ++i) {
    spec.layers.push_back(read_layer(tensors, spec, i));
  }
  spec.output_norm = tensors.vector("output_norm.weight", spec.embedding_size);
  tensors.refuse_others();
  return spec;
}

}  // namespace tickertape::kernels::models
