// PassRecorder: a backend that notes every pass on its way to another one.
#include <tickertape/pass_recorder.hpp>

#include <algorithm>
#include <utility>

namespace tickertape {

PassRecorder::PassRecorder(std::unique_ptr<Backend> backend, const BackendHost& host,
                           Functions functions)
    : backend_(std::move(backend)), host_(host), functions_(std::move(functions)) {}

void PassRecorder::forward(Ticket ticket, const Batch& batch) {
  for (const OpenedSlot& opened : batch.opened) {
    if (opened.slot >= slots_.size()) slots_.resize(opened.slot + 1);
    slots_[opened.slot] = {functions_.request_of(opened), opened.prompt_length, opened.num_tokens};
  }
  Pass& pass = passes_.emplace_back();
  pass.ticket = ticket;
  note(batch, pass);
  if (functions_.gauges) functions_.gauges(pass.record);
  backend_->forward(ticket, batch);
}

void PassRecorder::note(const Batch& batch, Pass& pass) const {
  TickRecord& record = pass.record;
  record.start_ns = host_.now();
  record.num_rows = static_cast<std::uint32_t>(batch.rows.size());
  record.num_running = record.num_rows;
  pass.rows.reserve(batch.rows.size());
  const PageTables& tables = batch.page_tables.front();
  for (std::size_t i = 0; i < batch.rows.size(); ++i) {
    const Row& from = batch.rows[i];
    const Slot& slot = slots_.at(from.slot);
    // A sequence that was swapped in begins with its last token, which is no prefill.
    const bool decodes = from.num_tokens == 1 && from.first_position + 1 == slot.num_tokens &&
                         slot.num_tokens > slot.prompt_length;
    TickRow& row = pass.rows.emplace_back();
    row.request = slot.request;
    row.slot = from.slot;
    row.num_tokens = from.num_tokens;
    row.prefill = from.first_position < slot.num_tokens && !decodes;
    row.samples = from.output == RowOutput::sample;
    record.num_tokens += row.num_tokens;
    if (row.prefill) record.num_prefill_tokens += row.num_tokens;
    const std::uint32_t pages = tables.offsets[i + 1] - tables.offsets[i];
    record.pages_held += pages;
    const std::uint32_t page_size = backend_->info().page_size;
    const std::uint32_t num_tokens = from.first_position + from.num_tokens;
    record.held_places += std::uint64_t{pages} * page_size;
    record.held_tokens += num_tokens;
    record.last_page_places += (page_size - num_tokens % page_size) % page_size;
  }
}

BatchResult PassRecorder::take(Ticket ticket) {
  const auto pass = std::find_if(passes_.begin(), passes_.end(),
                                 [ticket](const Pass& one) { return one.ticket == ticket; });
  if (pass == passes_.end()) return backend_->take(ticket);
  TickRecord& record = pass->record;
  record.start_ns = std::max(record.start_ns, last_end_ns_);
  last_end_ns_ = host_.now();
  record.duration_ns = last_end_ns_ - record.start_ns;
  functions_.done(record, pass->rows);
  passes_.erase(pass);
  return backend_->take(ticket);
}

}  // namespace tickertape
