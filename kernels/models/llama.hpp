// Llama: the DecoderSpec of a GGUF file whose architecture is `llama`.
#pragma once
#include "kernels/formats/gguf.hpp"
#include "kernels/models/decoder_spec.hpp"

namespace tickertape::kernels::models {

/// Checks every key that the computation depends on, and that the file holds the tensors of a llama
/// model in their shapes, of types that have arithmetic, and no others: an unknown tensor is a part
/// of the computation that would be left out in silence.
/// Throws Error(Errc::invalid_model) that names the key or the tensor.
[[nodiscard]] DecoderSpec read_llama_spec(const formats::GgufFile& file);

}  // namespace tickertape::kernels::models
