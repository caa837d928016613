// SimulationRecorder: a backend that notes what passes through it.
#include "actors/simulation_recorder.hpp"

#include <algorithm>

#include <tickertape/assert.hpp>

namespace tickertape::actors {

void SimulationRecorder::forward(Ticket ticket, const Batch& batch) {
  for (const OpenedSlot& opened : batch.opened) {
    if (opened.slot >= known_.size()) known_.resize(opened.slot + 1);
    known_[opened.slot] = {opened.prompt_length, opened.num_tokens};
  }
  TICKERTAPE_ASSERT(!expected_.empty() && expected_.front().size() == batch.rows.size());
  Pass& pass = passes_.emplace_back();
  pass.ticket = ticket;
  pass.rows = std::move(expected_.front());
  expected_.pop_front();
  TickRecord& record = pass.record;
  record.start_ns = host_.now();
  record.num_rows = static_cast<std::uint32_t>(batch.rows.size());
  for (std::size_t i = 0; i < batch.rows.size(); ++i) {
    TickRow& row = pass.rows[i];
    row.slot = batch.rows[i].slot;
    row.num_tokens = batch.rows[i].num_tokens;
    row.prefill = is_prefill(batch.rows[i]);
    row.samples = batch.rows[i].output == RowOutput::sample;
    record.num_tokens += row.num_tokens;
    if (row.prefill) record.num_prefill_tokens += row.num_tokens;
  }
  if (fill_gauges) fill_gauges(record);
  backend_.forward(ticket, batch);
}

/// A sequence that was swapped in begins with its last token, which is no prefill.
bool SimulationRecorder::is_prefill(const Row& row) const {
  const Known& known = known_[row.slot];
  const bool decodes = row.num_tokens == 1 && row.first_position + 1 == known.num_tokens &&
                       known.num_tokens > known.prompt_length;
  return row.first_position < known.num_tokens && !decodes;
}

BatchResult SimulationRecorder::take(Ticket ticket) {
  const auto pass = std::find_if(passes_.begin(), passes_.end(),
                                 [ticket](const Pass& one) { return one.ticket == ticket; });
  if (pass == passes_.end()) return backend_.take(ticket);
  TickRecord& record = pass->record;
  record.start_ns = std::max(record.start_ns, last_end_ns_);
  last_end_ns_ = host_.now();
  record.duration_ns = last_end_ns_ - record.start_ns;
  sink_(record, pass->rows);
  passes_.erase(pass);
  return backend_.take(ticket);
}

}  // namespace tickertape::actors
