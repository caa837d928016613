// Reading and packing of all weights of a model.
#include "kernels/cpu/weights.hpp"

#include <algorithm>

namespace tickertape::kernels::cpu {
namespace {

using formats::GgufFile;
using formats::TensorInfo;
using models::DecoderLayer;
using models::DecoderSpec;
using models::TensorRef;

constexpr std::size_t kAlignment = 64;
/// Kernels prefetch and load whole registers a little past the last matrix.
constexpr std::size_t kSlackBytes = 8192;

std::size_t aligned(std::size_t bytes) noexcept {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

PackedMatrix layout_of(const GgufFile& file, const TensorRef& ref) {
  return {weight_type(file.get_tensor(ref.name).type), ref.rows, ref.cols, nullptr};
}

/// Places tensors one after the other; without a region it only counts.
class Placer {
 public:
  Placer(const GgufFile& file, std::byte* region) : file_(file), region_(region) {}

  PackedMatrix matrix(const TensorRef& ref) {
    PackedMatrix matrix = layout_of(file_, ref);
    std::byte* to = take(matrix.size_bytes());
    matrix.data = to;
    if (to != nullptr) read_groups(matrix, file_.get_tensor(ref.name), to);
    return matrix;
  }

  std::span<const float> vector(const TensorRef& ref) {
    std::byte* to = take(ref.cols * sizeof(float));
    if (to == nullptr) return {};
    const std::size_t size = ref.cols;
    file_.read_tensor(file_.get_tensor(ref.name), {to, size * sizeof(float)});
    return {reinterpret_cast<const float*>(to), size};
  }

  FusedMatrix fused(std::initializer_list<const TensorRef*> refs) {
    FusedMatrix fused;
    for (const TensorRef* ref : refs) fused.parts.push_back(matrix(*ref));
    return fused;
  }

  LayerWeights layer(const DecoderLayer& layer) {
    LayerWeights weights;
    weights.attention_norm = vector(layer.attention_norm);
    weights.query_key_value = fused({&layer.query, &layer.key, &layer.value});
    weights.attention_output = fused({&layer.attention_output});
    weights.ffn_norm = vector(layer.ffn_norm);
    weights.gate_up = fused({&layer.ffn_gate, &layer.ffn_up});
    weights.down = fused({&layer.ffn_down});
    return weights;
  }

  [[nodiscard]] std::size_t used() const noexcept { return used_; }

 private:
  std::byte* take(std::size_t bytes) {
    std::byte* place = region_ == nullptr ? nullptr : region_ + used_;
    used_ += aligned(bytes);
    return place;
  }

  void read_groups(const PackedMatrix& matrix, const TensorInfo& info, std::byte* to) {
    const std::size_t row_bytes = file_row_bytes(matrix.type, matrix.num_cols);
    buffer_.resize(row_bytes * kGroupRows);
    for (std::uint32_t group = 0; group < matrix.num_groups(); ++group) {
      const std::uint32_t first_row = group * kGroupRows;
      const std::size_t rows = std::min(kGroupRows, matrix.num_rows - first_row);
      const std::span part(buffer_.data(), rows * row_bytes);
      file_.read_tensor_part(info, first_row * row_bytes, part);
      pack_group(matrix, part, to + group * matrix.group_bytes());
    }
  }

  const GgufFile& file_;
  std::byte* region_;
  std::size_t used_ = 0;
  std::vector<std::byte> buffer_;
};

}  // namespace

std::uint32_t FusedMatrix::num_groups() const noexcept {
  std::uint32_t sum = 0;
  for (const PackedMatrix& part : parts) sum += part.num_groups();
  return sum;
}

std::uint32_t FusedMatrix::first_column(std::size_t part) const noexcept {
  std::uint32_t groups = 0;
  for (std::size_t i = 0; i < part; ++i) groups += parts[i].num_groups();
  return groups * kGroupRows;
}

CpuWeights::CpuWeights(const GgufFile& file, const DecoderSpec& spec)
    : region_(packed_bytes(file, spec), "the weights") {
  Placer placer(file, region_.data());
  embedding_ = placer.matrix(spec.embedding);
  output_norm_ = placer.vector(spec.output_norm);
  for (const DecoderLayer& layer : spec.layers) layers_.push_back(placer.layer(layer));
  const bool tied = spec.output.name == spec.embedding.name;
  output_.parts = {tied ? embedding_ : placer.matrix(spec.output)};
}

std::size_t packed_bytes(const GgufFile& file, const DecoderSpec& spec) {
  Placer counter(file, nullptr);
  counter.matrix(spec.embedding);
  counter.vector(spec.output_norm);
  for (const DecoderLayer& layer : spec.layers) counter.layer(layer);
  if (spec.output.name != spec.embedding.name) counter.matrix(spec.output);
  return counter.used() + kSlackBytes;
}

}  // namespace tickertape::kernels::cpu
