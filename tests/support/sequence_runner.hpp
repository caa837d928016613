// SequenceRunner: runs sequences on a backend in a chosen way, to compare what comes out.
#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <stdexcept>
#include <utility>
#include <vector>

#include <tickertape/backend.hpp>
#include <tickertape/model.hpp>
#include <tickertape/options.hpp>
#include <tickertape/parallel.hpp>

#include "runtime/compute_pool.hpp"
#include "tests/unit/fake/test_host.hpp"

namespace tickertape::test {

/// A prompt and how it goes on.
struct Prompt {
  std::vector<TokenId> ids;
  std::uint32_t num_new = 4;
  SamplingParams sampling;
  std::uint64_t seed = 0;
};

/// Everything that a sequence gave; equal only when every bit is.
struct Transcript {
  std::vector<TokenId> tokens;
  std::vector<TokenLogprob> logprobs;  ///< Per token its own and the most likely ones.
  std::vector<float> hidden;           ///< Of the last position.
  friend bool operator==(const Transcript&, const Transcript&) = default;
};

/// What must not change a bit.
struct RunConfig {
  std::uint32_t chunk = 512;  ///< Prompt tokens of a sequence per pass.
  unsigned num_threads = 1;
  std::uint32_t page_size = 16;
  std::uint64_t page_seed = 0;  ///< 0 = pages in order, else shuffled.
  std::uint32_t max_num_batched_tokens = 512;
};

class SequenceRunner {
 public:
  SequenceRunner(const Model& model, BackendOptions options, const RunConfig& config)
      : config_(config), pool_(config.num_threads, 0) {
    options.page_size = config.page_size;
    options.max_num_batched_tokens = config.max_num_batched_tokens;
    options.num_kv_pages = kTokens / config.page_size;
    backend_ = model.make_backend(options, host_, pool_);
  }

  /// All prompts at the same time.
  std::vector<Transcript> run(const std::vector<Prompt>& prompts) {
    start(prompts);
    while (step(prompts)) {
    }
    read_hidden(prompts);
    return std::move(transcripts_);
  }

  /// One after the other.
  std::vector<Transcript> run_alone(const std::vector<Prompt>& prompts) {
    std::vector<Transcript> all;
    for (const Prompt& prompt : prompts) all.push_back(run({prompt}).front());
    return all;
  }

 private:
  static constexpr std::uint32_t kTokens = 8192;
  static constexpr std::int32_t kNumLogprobs = 3;

  void start(const std::vector<Prompt>& prompts) {
    transcripts_.assign(prompts.size(), {});
    cached_.assign(prompts.size(), 0);
    pages_.assign(prompts.size(), {});
    std::vector<PageId> free(backend_->info().num_pages);
    for (std::size_t i = 0; i < free.size(); ++i) free[i] = static_cast<PageId>(i);
    std::mt19937_64 random(config_.page_seed);
    for (std::size_t i = free.size(); config_.page_seed != 0 && i > 1; --i) {
      std::swap(free[i - 1], free[random() % i]);
    }
    batch_ = {};
    for (std::size_t i = 0; i < prompts.size(); ++i) {
      const std::size_t tokens = prompts[i].ids.size() + prompts[i].num_new;
      for (std::size_t done = 0; done < tokens; done += config_.page_size) {
        pages_[i].push_back(free.back());
        free.pop_back();
      }
      const auto length = static_cast<std::uint32_t>(prompts[i].ids.size());
      OpenedSlot opened;
      opened.slot = static_cast<SlotId>(i);
      opened.sampling = prompts[i].sampling;
      opened.seed = prompts[i].seed;
      opened.prompt_length = opened.num_tokens = length;
      opened.first_token = static_cast<std::uint32_t>(batch_.opened_ids.size());
      batch_.opened.push_back(std::move(opened));
      batch_.opened_ids.insert(batch_.opened_ids.end(), prompts[i].ids.begin(),
                               prompts[i].ids.end());
    }
  }

  void add_row(std::size_t sequence, Row row) {
    row.slot = static_cast<SlotId>(sequence);
    row.source_slot = row.slot;
    if (batch_.page_tables.empty()) batch_.page_tables.push_back({{0}, {}});
    PageTables& tables = batch_.page_tables.front();
    tables.pages.insert(tables.pages.end(), pages_[sequence].begin(), pages_[sequence].end());
    tables.offsets.push_back(static_cast<std::uint32_t>(tables.pages.size()));
    batch_.rows.push_back(row);
  }

  BatchResult forward() {
    backend_->forward(1, batch_);
    BatchResult result = backend_->take(1);
    if (result.status != PassStatus::ok) throw std::runtime_error(result.fault);
    batch_ = {};
    return result;
  }

  bool step(const std::vector<Prompt>& prompts) {
    std::vector<std::size_t> sequences;
    for (std::size_t i = 0; i < prompts.size(); ++i) {
      if (transcripts_[i].tokens.size() == prompts[i].num_new) continue;
      sequences.push_back(i);
      Row row;
      row.first_position = cached_[i];
      const auto length = static_cast<std::uint32_t>(prompts[i].ids.size());
      if (cached_[i] < length) {
        row.num_tokens = std::min(config_.chunk, length - cached_[i]);
        row.first_id = static_cast<std::uint32_t>(batch_.ids.size());
        const auto first = prompts[i].ids.begin() + cached_[i];
        batch_.ids.insert(batch_.ids.end(), first, first + row.num_tokens);
      } else {
        row.num_tokens = 1;
        row.source = RowSource::last_token_of;
      }
      cached_[i] += row.num_tokens;
      if (cached_[i] >= length) {
        row.output = RowOutput::sample;
        row.num_outputs = 1;
        row.num_logprobs = kNumLogprobs;
      }
      add_row(i, row);
    }
    if (sequences.empty()) return false;
    const BatchResult result = forward();
    for (std::size_t r = 0; r < sequences.size(); ++r) {
      keep(result, result.rows[r], transcripts_[sequences[r]]);
    }
    return true;
  }

  static void keep(const BatchResult& result, const RowResult& row, Transcript& to) {
    if (row.num_tokens == 0) return;
    to.tokens.push_back(result.tokens[row.first_token]);
    const PositionLogprobs& logprobs = result.logprobs[row.first_logprob];
    to.logprobs.push_back(logprobs.chosen);
    for (std::uint32_t i = 0; i < logprobs.num_top; ++i) {
      to.logprobs.push_back(result.top[logprobs.first_top + i]);
    }
  }

  void read_hidden(const std::vector<Prompt>& prompts) {
    for (std::size_t i = 0; i < prompts.size(); ++i) {
      Row row;
      row.first_position = cached_[i];
      row.num_tokens = 1;
      row.source = RowSource::last_token_of;
      row.output = RowOutput::hidden;
      row.num_outputs = 1;
      add_row(i, row);
    }
    const BatchResult result = forward();
    for (std::size_t i = 0; i < prompts.size(); ++i) {
      const auto first = result.hidden.begin() + result.rows[i].first_hidden;
      transcripts_[i].hidden.assign(first, first + backend_->info().embedding_size);
    }
  }

  RunConfig config_;
  TestHost host_;
  runtime::ComputePool pool_;
  std::unique_ptr<Backend> backend_;
  Batch batch_;
  std::vector<std::uint32_t> cached_;
  std::vector<std::vector<PageId>> pages_;
  std::vector<Transcript> transcripts_;
};

}  // namespace tickertape::test
