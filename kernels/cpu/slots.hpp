// Slots: what a backend keeps of the sequences between passes.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include <tickertape/assert.hpp>
#include <tickertape/batch.hpp>

#include "kernels/sampling/slot_sampling.hpp"

namespace tickertape::kernels::cpu {

class Slots {
 public:
  explicit Slots(std::uint32_t max_num_seqs) : slots_(max_num_seqs), last_tokens_(max_num_seqs) {}

  /// Closes and opens what the batch says, and takes in its rows' tokens.
  void update(const Batch& batch) {
    for (const SlotId slot : batch.closed) {
      TICKERTAPE_ASSERT(slot < slots_.size());
      slots_[slot] = {};
    }
    for (const OpenedSlot& opened : batch.opened) open(opened, batch.opened_ids);
    for (const Row& row : batch.rows) note_row(row, batch.ids);
  }

  /// Takes in the tokens that were sampled after a row's last positions.
  void note_sampled(const Row& row, std::span<const TokenId> tokens) {
    if (tokens.empty()) return;
    last_tokens_[row.slot] = tokens.back();
    // Of several only the host knows which one holds; its next row says so.
    if (tokens.size() == 1) {
      slots_[row.slot].sampling.note(row.first_position + row.num_tokens, tokens.back());
    }
  }

  [[nodiscard]] const sampling::SlotSampling& operator[](SlotId slot) const noexcept {
    TICKERTAPE_ASSERT(slot < slots_.size() && slots_[slot].open);
    return slots_[slot].sampling;
  }
  [[nodiscard]] std::span<const TokenId> last_tokens() const noexcept { return last_tokens_; }

 private:
  struct Slot {
    bool open = false;
    sampling::SlotSampling sampling;
  };

  void open(const OpenedSlot& opened, std::span<const TokenId> ids) {
    TICKERTAPE_ASSERT(opened.slot < slots_.size());
    TICKERTAPE_ASSERT(std::size_t{opened.first_token} + opened.num_tokens <= ids.size());
    const auto tokens = ids.subspan(opened.first_token, opened.num_tokens);
    slots_[opened.slot] = {true, sampling::SlotSampling(opened, tokens)};
    if (!tokens.empty()) last_tokens_[opened.slot] = tokens.back();
  }

  void note_row(const Row& row, std::span<const TokenId> ids) {
    TICKERTAPE_ASSERT(row.slot < slots_.size());
    sampling::SlotSampling& sampling = slots_[row.slot].sampling;
    if (sampling.ignores_notes()) return;
    for (std::uint32_t i = 0; i < row.num_tokens; ++i) {
      sampling.note(row.first_position + i, row.source == RowSource::ids
                                                ? ids[row.first_id + i]
                                                : last_tokens_[row.source_slot]);
    }
  }

  std::vector<Slot> slots_;
  std::vector<TokenId> last_tokens_;
};

}  // namespace tickertape::kernels::cpu
