// PassDriver: builds batches for a backend under test and runs them one at a time.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include <tickertape/backend.hpp>
#include <tickertape/model.hpp>
#include <tickertape/options.hpp>
#include <tickertape/parallel.hpp>

#include "tests/unit/fake/test_host.hpp"

namespace tickertape::test {

/// A sequence as an engine would hold it.
struct Sequence {
  SlotId slot = 0;
  std::vector<TokenId> tokens;  ///< The prompt, then what was generated.
  std::uint32_t prompt_length = 0;
  SamplingParams params;
  std::uint64_t seed = 0;
  std::uint32_t choice = 0;
  std::vector<PageId> pages;
  std::vector<std::vector<PageId>> window_pages;  ///< The same of further layer groups.
  std::uint32_t num_cached = 0;                   ///< Tokens whose places are written.
  bool opened = false;
  std::vector<TokenId> suppressed;
  std::shared_ptr<const LogitProcessor> processor;

  Sequence(SlotId in_slot, std::vector<TokenId> prompt, std::vector<PageId> in_pages)
      : slot(in_slot),
        tokens(std::move(prompt)),
        prompt_length(static_cast<std::uint32_t>(tokens.size())),
        pages(std::move(in_pages)) {}

  [[nodiscard]] std::vector<TokenId> generated() const {
    return {tokens.begin() + prompt_length, tokens.end()};
  }
};

class PassDriver {
 public:
  explicit PassDriver(const Model& model, std::uint32_t num_pages = 64,
                      std::uint32_t num_host_pages = 16) {
    BackendOptions options;
    options.page_size = 4;
    options.num_kv_pages = num_pages;
    options.num_host_pages = num_host_pages;
    options.max_num_seqs = 8;
    backend_ = model.make_backend(options, host, parallel_);
    clear();
  }

  /// Adds a row of the next `num_tokens` tokens (0 = all that are known); the row samples when it
  /// reaches the last one. Returns it for changes.
  Row& add(Sequence& sequence, std::uint32_t num_tokens = 0) {
    if (!std::exchange(sequence.opened, true)) open(sequence);
    const auto known = static_cast<std::uint32_t>(sequence.tokens.size());
    Row row;
    row.slot = sequence.slot;
    row.first_position = sequence.num_cached;
    row.num_tokens = num_tokens == 0 ? known - sequence.num_cached : num_tokens;
    row.first_id = static_cast<std::uint32_t>(batch.ids.size());
    const auto first = sequence.tokens.begin() + sequence.num_cached;
    batch.ids.insert(batch.ids.end(), first, first + row.num_tokens);
    if (row.first_position + row.num_tokens == known) {
      row.output = RowOutput::sample;
      row.num_outputs = 1;
    }
    add_tables(sequence);
    rows_of_.push_back(&sequence);
    return batch.rows.emplace_back(row);
  }

  /// Adds a row for the token that the slot sampled in the pass before.
  Row& add_last_token(Sequence& sequence) {
    Row row;
    row.slot = sequence.slot;
    row.first_position = sequence.num_cached;
    row.num_tokens = 1;
    row.source = RowSource::last_token_of;
    row.source_slot = sequence.slot;
    row.output = RowOutput::sample;
    row.num_outputs = 1;
    add_tables(sequence);
    rows_of_.push_back(&sequence);
    return batch.rows.emplace_back(row);
  }

  void open(const Sequence& sequence) {
    OpenedSlot opened;
    opened.slot = sequence.slot;
    opened.sampling = sequence.params;
    opened.seed = sequence.seed;
    opened.choice = sequence.choice;
    opened.prompt_length = sequence.prompt_length;
    opened.first_token = static_cast<std::uint32_t>(batch.opened_ids.size());
    opened.num_tokens = static_cast<std::uint32_t>(sequence.tokens.size());
    opened.suppressed = sequence.suppressed;
    opened.processor = sequence.processor;
    batch.opened.push_back(std::move(opened));
    batch.opened_ids.insert(batch.opened_ids.end(), sequence.tokens.begin(), sequence.tokens.end());
  }

  Ticket submit() {
    const Ticket ticket = next_ticket_++;
    backend_->forward(ticket, batch);
    return ticket;
  }

  /// Runs the batch and gives its sampled tokens to the sequences.
  BatchResult run() {
    submit();
    const std::optional<Ticket> ticket = host.next();
    if (!ticket) throw std::logic_error("the backend did not post");
    return finish(*ticket);
  }

  /// Takes the outcome of the batch and begins a new one.
  BatchResult finish(Ticket ticket) {
    BatchResult result = backend_->take(ticket);
    for (std::size_t i = 0; i < result.rows.size(); ++i) {
      rows_of_[i]->num_cached = batch.rows[i].first_position + batch.rows[i].num_tokens;
      for (std::uint32_t k = 0; k < result.rows[i].num_tokens; ++k) {
        rows_of_[i]->tokens.push_back(result.tokens[result.rows[i].first_token + k]);
      }
    }
    clear();
    return result;
  }

  /// Runs `sequence` alone until it has `count` generated tokens.
  void generate(Sequence& sequence, std::size_t count) {
    while (sequence.generated().size() < count) {
      add(sequence);
      const BatchResult result = run();
      if (result.rows.empty() || result.rows[0].num_tokens == 0) return;
    }
  }

  [[nodiscard]] Backend& backend() { return *backend_; }
  [[nodiscard]] Ticket next_ticket() { return next_ticket_++; }

  TestHost host;
  Batch batch;

 private:
  void add_tables(const Sequence& sequence) {
    for (std::size_t group = 0; group < batch.page_tables.size(); ++group) {
      const std::vector<PageId>& pages =
          group == 0 ? sequence.pages : sequence.window_pages.at(group - 1);
      PageTables& tables = batch.page_tables[group];
      tables.pages.insert(tables.pages.end(), pages.begin(), pages.end());
      tables.offsets.push_back(static_cast<std::uint32_t>(tables.pages.size()));
    }
  }
  void clear() {
    batch = Batch{};
    batch.page_tables.resize(backend_->info().groups.size());
    for (PageTables& tables : batch.page_tables) tables.offsets.push_back(0);
    batch.rows.reserve(64);
    rows_of_.clear();
  }

  SingleThread parallel_;
  std::unique_ptr<Backend> backend_;
  std::vector<Sequence*> rows_of_;
  Ticket next_ticket_ = 1;
};

}  // namespace tickertape::test
