// CpuWeights: all matrices and vectors of a decoder, packed for the CPU kernels.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/cpu/memory_region.hpp"
#include "kernels/cpu/packed_matrix.hpp"
#include "kernels/formats/gguf.hpp"
#include "kernels/models/decoder_spec.hpp"

namespace tickertape::kernels::cpu {

/// Matrices that take the same input, computed in one step. The outputs of part i begin at column
/// first_column[i]; parts are padded to whole groups, so groups can be counted through.
struct FusedMatrix {
  std::vector<PackedMatrix> parts;

  [[nodiscard]] std::uint32_t num_groups() const noexcept;
  [[nodiscard]] std::uint32_t first_column(std::size_t part) const noexcept;
  [[nodiscard]] std::uint32_t num_columns() const noexcept { return num_groups() * kGroupRows; }
  [[nodiscard]] std::uint32_t num_inputs() const noexcept { return parts.front().num_cols; }
};

struct LayerWeights {
  std::span<const float> attention_norm;
  FusedMatrix query_key_value;
  FusedMatrix attention_output;
  std::span<const float> ffn_norm;
  FusedMatrix gate_up;
  FusedMatrix down;
};

/// Immutable after construction; shared by all backends of a model. Read tensor by tensor with
/// pread into one region: never more than one group of rows is in memory twice.
class CpuWeights {
 public:
  /// Throws Error(Errc::invalid_model) when the file cannot be read, Error(Errc::invalid_request)
  /// when there is no room.
  CpuWeights(const formats::GgufFile& file, const models::DecoderSpec& spec);

  [[nodiscard]] std::span<const LayerWeights> layers() const noexcept { return layers_; }
  [[nodiscard]] const PackedMatrix& embedding() const noexcept { return embedding_; }
  [[nodiscard]] const FusedMatrix& output() const noexcept { return output_; }
  [[nodiscard]] std::span<const float> output_norm() const noexcept { return output_norm_; }
  [[nodiscard]] std::size_t size_bytes() const noexcept { return region_.size(); }

 private:
  MemoryRegion region_;
  PackedMatrix embedding_;
  FusedMatrix output_;
  std::span<const float> output_norm_;
  std::vector<LayerWeights> layers_;
};

/// Bytes that CpuWeights takes for a model.
[[nodiscard]] std::size_t packed_bytes(const formats::GgufFile& file,
                                       const models::DecoderSpec& spec);

}  // namespace tickertape::kernels::cpu
