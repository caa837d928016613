// OutputHead: from final states to tokens, log-probabilities and hidden outputs.
#pragma once
#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <tickertape/backend.hpp>
#include <tickertape/parallel.hpp>

#include "kernels/cpu/decoder_pass.hpp"
#include "kernels/cpu/pass_plan.hpp"
#include "kernels/cpu/scratch.hpp"
#include "kernels/cpu/slots.hpp"
#include "kernels/sampling/sampler.hpp"

namespace tickertape::kernels::cpu {

/// Collects the outputs of a pass, slice by slice. Logits exist for a few positions at a time.
class OutputHead {
 public:
  OutputHead(const models::DecoderSpec& spec, const CpuWeights& weights, const KernelTable& kernels,
             unsigned num_threads);

  /// Bytes of logits and of what sampling needs.
  [[nodiscard]] static std::uint64_t scratch_bytes(const models::DecoderSpec& spec,
                                                   unsigned num_threads);

  /// Begins a pass. REQUIRES: batch and slots outlive it.
  void begin(const Batch& batch, const Slots& slots);
  /// Adds the outputs of a slice that `pass` has computed. Throws std::bad_alloc.
  void add(const PassSlice& slice, const DecoderPass& pass, Parallel& parallel);
  /// The pass's result, rows in order.
  [[nodiscard]] BatchResult finish();

 private:
  struct Output {
    bool bad_numbers = false;
    std::string fault;
    TokenId sampled = -1;
    PositionLogprobs logprobs;
    std::vector<TokenLogprob> top;

    [[nodiscard]] bool fails() const noexcept { return bad_numbers || !fault.empty(); }
  };

  void compute_tile(const PassSlice& slice, std::span<const OutputPosition> outputs,
                    const DecoderPass& pass, Parallel& parallel, unsigned index,
                    unsigned num_members);
  void fill_output(const OutputPosition& place, std::uint32_t tile_row,
                   sampling::SamplerScratch& scratch);
  void fill_hidden(const OutputPosition& place, std::uint32_t tile_row);
  void add_row(std::size_t row, BatchResult& result) const;
  [[nodiscard]] Output& output(const OutputPosition& place) {
    return outputs_[first_output_[place.row] + place.index];
  }

  const models::DecoderSpec& spec_;
  const CpuWeights& weights_;
  const KernelTable& kernels_;
  ActivationRows normed_;
  FloatRows logits_;
  std::vector<sampling::SamplerScratch> scratch_;
  std::atomic<bool> out_of_memory_ = false;

  const Batch* batch_ = nullptr;
  const Slots* slots_ = nullptr;
  std::vector<std::size_t> first_output_;  ///< Per row of the batch.
  std::vector<Output> outputs_;
  std::vector<std::size_t> first_hidden_;  ///< Per row of the batch.
  std::vector<float> hidden_;
};

}  // namespace tickertape::kernels::cpu
