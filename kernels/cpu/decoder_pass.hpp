// DecoderPass: the blocks of a decoder over one slice, computed by a team of threads.
#pragma once
#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include <tickertape/backend.hpp>
#include <tickertape/parallel.hpp>

#include "kernels/cpu/kernel_table.hpp"
#include "kernels/cpu/kv_pages.hpp"
#include "kernels/cpu/pass_plan.hpp"
#include "kernels/cpu/scratch.hpp"
#include "kernels/cpu/weights.hpp"
#include "kernels/models/decoder_spec.hpp"

namespace tickertape::kernels::cpu {

/// Owns the intermediate values; everything else must outlive it. Used by one thread at a time.
///
/// Few tokens are split over the team by outputs of the matrices (the weights' bytes are what
/// costs), many by tokens (each thread keeps its activations in its cache). Neither changes a bit:
/// a token's arithmetic is the same, only who does it differs.
class DecoderPass {
 public:
  DecoderPass(const models::DecoderSpec& spec, const CpuWeights& weights,
              const KernelTable& kernels, const KvPages& pages, std::uint32_t max_tokens,
              unsigned num_threads);
  ~DecoderPass();

  /// Bytes of the intermediate values.
  [[nodiscard]] static std::uint64_t scratch_bytes(const models::DecoderSpec& spec,
                                                   std::uint32_t max_tokens, unsigned num_threads);

  /// Computes all blocks, writes the keys and values. False when abandoned at the host's wish.
  /// REQUIRES: slice.num_tokens() <= max_tokens; ids and pages in range.
  bool run(const PassSlice& slice, Parallel& parallel, BackendHost& host);

  /// The state of a token of the slice after the last block, before the output norm.
  [[nodiscard]] std::span<const float> state(std::uint32_t token) const noexcept {
    return {states_.row(token), spec_.embedding_size};
  }

 private:
  struct Member;
  struct AttentionItem {
    std::uint32_t segment = 0;
    std::uint32_t first_token = 0;  ///< In the segment.
    std::uint32_t num_tokens = 0;
    std::uint32_t first_head = 0;  ///< Query heads that share one key/value head begin here.
  };
  struct AttentionScratch;

  void plan_attention(const PassSlice& slice);
  void work(const PassSlice& slice, Parallel& parallel, BackendHost& host, unsigned index,
            unsigned num_members);
  void embed(const PassSlice& slice, const Member& member);
  /// False when the pass is abandoned, for all members alike.
  bool attention_block(const PassSlice& slice, const Member& member, std::uint32_t layer);
  void ffn_block(const Member& member, std::uint32_t layer);
  void norm_rows(const Member& member, std::span<const float> weight, const FusedMatrix& next);
  void multiply(const Member& member, const FusedMatrix& matrix, const ActivationRows& from,
                const FloatRows& to, bool add);
  void rotate(float* head, const float* turns) const;
  void write_pages(const PassSlice& slice, const Member& member, std::uint32_t layer);
  void attend(const PassSlice& slice, const Member& member, std::uint32_t layer);
  void attend_item(const PassSlice& slice, const AttentionItem& item, std::uint32_t layer,
                   AttentionScratch& scratch);
  void load_keys(const Segment& segment, std::uint32_t layer, std::uint32_t kv_head,
                 std::uint32_t first, std::uint32_t count, AttentionScratch& scratch) const;

  const models::DecoderSpec& spec_;
  const CpuWeights& weights_;
  const KernelTable& kernels_;
  const KvPages& pages_;
  std::vector<double> frequencies_;  ///< Radians per position, one per turning pair.
  FloatRows states_;
  ActivationRows normed_;
  FloatRows query_key_value_;
  ActivationRows attended_;
  FloatRows gate_up_;
  ActivationRows ffn_;
  FloatRows turns_;  ///< Per token cosine and sine of every pair.
  std::vector<AttentionScratch> attention_scratch_;
  std::vector<AttentionItem> attention_items_;
  /// Counters of even and odd layers: each is set back before the other one's attention.
  std::atomic<std::uint32_t> next_item_[2] = {};
  std::atomic<bool> abandoned_ = false;
};

}  // namespace tickertape::kernels::cpu
