// Cutting of batches into slices.
#include "kernels/cpu/pass_plan.hpp"

#include <algorithm>
#include <tickertape/assert.hpp>

namespace tickertape::kernels::cpu {

bool PassPlan::next(PassSlice& slice) {
  slice.ids.clear();
  slice.positions.clear();
  slice.segments.clear();
  slice.outputs.clear();
  while (row_ < batch_.rows.size() && slice.num_tokens() < max_tokens_) {
    const Row& row = batch_.rows[row_];
    TICKERTAPE_ASSERT(row.num_tokens > 0 && row.num_outputs <= row.num_tokens);
    const std::uint32_t count = std::min(row.num_tokens - done_, max_tokens_ - slice.num_tokens());
    add_segment(slice, count);
    done_ += count;
    if (done_ == row.num_tokens) {
      ++row_;
      done_ = 0;
    }
  }
  return slice.num_tokens() > 0;
}

void PassPlan::add_segment(PassSlice& slice, std::uint32_t count) {
  const Row& row = batch_.rows[row_];
  const PageTables& tables = batch_.page_tables.front();
  Segment segment;
  segment.row = row_;
  segment.first_token = slice.num_tokens();
  segment.num_tokens = count;
  segment.first_position = row.first_position + done_;
  segment.pages =
      std::span(tables.pages)
          .subspan(tables.offsets[row_], tables.offsets[row_ + 1] - tables.offsets[row_]);
  slice.segments.push_back(segment);

  const std::uint32_t first_output =
      row.output == RowOutput::none ? row.num_tokens : row.num_tokens - row.num_outputs;
  for (std::uint32_t i = done_; i < done_ + count; ++i) {
    if (i >= first_output) slice.outputs.push_back({row_, slice.num_tokens(), i - first_output});
    if (row.source == RowSource::last_token_of) {
      TICKERTAPE_ASSERT(row.num_tokens == 1 && row.source_slot < last_tokens_.size());
      slice.ids.push_back(last_tokens_[row.source_slot]);
    } else {
      TICKERTAPE_ASSERT(row.first_id + i < batch_.ids.size());
      slice.ids.push_back(batch_.ids[row.first_id + i]);
    }
    slice.positions.push_back(row.first_position + i);
  }
}

}  // namespace tickertape::kernels::cpu
