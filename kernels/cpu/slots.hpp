// Slots: what a backend keeps of the sequences between passes.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include <tickertape/assert.hpp>
#include <tickertape/batch.hpp>

namespace tickertape::kernels::cpu {

class Slots {
 public:
  struct Slot {
    bool open = false;
    SamplingParams sampling;
    std::uint64_t seed = 0;
    std::uint32_t choice = 0;
  };

  explicit Slots(std::uint32_t max_num_seqs) : slots_(max_num_seqs), last_tokens_(max_num_seqs) {}

  /// Closes and opens what the batch says.
  void update(const Batch& batch) {
    for (const SlotId slot : batch.closed) {
      TICKERTAPE_ASSERT(slot < slots_.size());
      slots_[slot].open = false;
    }
    for (const OpenedSlot& opened : batch.opened) {
      TICKERTAPE_ASSERT(opened.slot < slots_.size());
      slots_[opened.slot] = {true, opened.sampling, opened.seed, opened.choice};
      if (opened.num_tokens == 0) continue;
      const std::size_t last = std::size_t{opened.first_token} + opened.num_tokens - 1;
      TICKERTAPE_ASSERT(last < batch.opened_ids.size());
      last_tokens_[opened.slot] = batch.opened_ids[last];
    }
  }

  [[nodiscard]] const Slot& operator[](SlotId slot) const noexcept {
    TICKERTAPE_ASSERT(slot < slots_.size() && slots_[slot].open);
    return slots_[slot];
  }
  [[nodiscard]] std::span<const TokenId> last_tokens() const noexcept { return last_tokens_; }
  void set_last_token(SlotId slot, TokenId token) noexcept { last_tokens_[slot] = token; }

 private:
  std::vector<Slot> slots_;
  std::vector<TokenId> last_tokens_;
};

}  // namespace tickertape::kernels::cpu
