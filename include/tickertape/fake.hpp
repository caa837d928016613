// PagedFake: a model without arithmetic whose tokens depend on every page place it reads.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tickertape/backend.hpp>

namespace tickertape {

class Model;

/// What a test sees of a running fake backend, and of those made later with the same options.
/// Any thread.
class PagedFakeProbe {
 public:
  std::atomic<std::uint64_t> forwards{0};  ///< Passes submitted, failed ones included.
  std::atomic<std::uint64_t> tokens{0};    ///< Token places written by passes.
  std::atomic<std::uint64_t> samples{0};   ///< Tokens sampled.
  std::atomic<std::uint64_t> copied_pages{0};
  std::atomic<std::uint64_t> swapped_out_pages{0};
  std::atomic<std::uint64_t> swapped_in_pages{0};

  /// How often the host broke the contract of batch.hpp or backend.hpp.
  [[nodiscard]] std::uint64_t violations() const noexcept { return violations_.load(); }
  /// One sentence about the first of them; empty when there is none.
  [[nodiscard]] std::string first_violation() const {
    const std::lock_guard lock(mutex_);
    return first_violation_;
  }
  [[nodiscard]] Batch last_batch() const {
    const std::lock_guard lock(mutex_);
    return last_batch_;
  }

  // For the backend.
  void report(std::string_view message) {
    const std::lock_guard lock(mutex_);
    if (violations_.fetch_add(1) == 0) first_violation_ = message;
  }
  void keep(const Batch& batch) {
    const std::lock_guard lock(mutex_);
    last_batch_ = batch;
  }

 private:
  std::atomic<std::uint64_t> violations_{0};
  mutable std::mutex mutex_;
  std::string first_violation_;
  Batch last_batch_;
};

struct PagedFakeOptions {
  std::uint32_t vocab_size = 1000;  ///< At least 2. Token 0 ends a generation.
  std::uint32_t max_model_len = 16384;
  std::uint32_t embedding_size = 8;
  double end_probability = 1.0 / 64;  ///< Of each sampled token.
  double nan_probability = 0;         ///< Of each sampled token to come out as bad numbers.

  /// Time of a pass: pass_ns + num_tokens * token_ns. With both 0 the backend is synchronous: it
  /// posts inside forward(). Else it is asynchronous, works through its operations one after the
  /// other, and posts through BackendHost::post_at.
  std::int64_t pass_ns = 0;
  std::int64_t token_ns = 0;

  std::int64_t swap_page_ns = 0;  ///< And so much for each page to the host or back.

  /// Layer groups beside the first one, which sees everything. REQUIRES: each has a window.
  std::vector<LayerGroup> windows;

  std::vector<std::uint64_t> fail_at;       ///< Calls of forward(), from 0, that end as `failed`.
  std::vector<std::uint64_t> fail_swap_at;  ///< The same of swap_out() and swap_in() together.
  std::shared_ptr<PagedFakeProbe> probe;    ///< Shared with the backends; may be null.
};

/// A model whose backend keeps token ids in its KV pages, one per token place. Each pass writes its
/// rows' ids through the page tables; a sampled token is a hash of all ids read back through the
/// page table for positions [0, position], and with temperature > 0 of (seed, choice, position). So
/// a page handed out twice, a place that was not written again, or a wrong table changes tokens,
/// and most such errors are also counted as violations.
///
/// With layer groups that have windows, a pass writes the ids into the pages of each group, and
/// reads back in each what its window shows: an id there that is not the right one changes tokens
/// too.
///
/// Of SamplingParams, min_tokens has an effect: a token that is impossible gives way to the next
/// possible id. A LogitProcessor is called with a row whose most likely token is that one, and
/// chooses with it, whatever the temperature. Filters, penalties, logit_bias and allowed_token_ids
/// have none.
///
/// A place remembers the position and the history that it was written for, so it is also noticed
/// when stale ids happen to be the right ones.
///
/// Its tokenizer: id 0 is the control token `<|end|>`, ids 1 to 256 are the bytes, others are
/// written `[id]`. Text round-trips when vocab_size > 256; else bytes share ids.
[[nodiscard]] std::shared_ptr<const Model> make_paged_fake_model(PagedFakeOptions options = {});

/// The tokens that a request gets whatever else runs beside it, without any pages: at most
/// `max_tokens`; ends after the end token unless params.ignore_eos, after a stop token, and before
/// one of bad numbers.
[[nodiscard]] std::vector<TokenId> paged_fake_expected(std::span<const TokenId> prompt,
                                                       const SamplingParams& params,
                                                       std::uint64_t seed, std::uint32_t choice,
                                                       std::uint32_t max_tokens,
                                                       const PagedFakeOptions& options);

/// The log-probability that the fake gives to `token` after `history`.
[[nodiscard]] float paged_fake_logprob(std::span<const TokenId> history, TokenId token,
                                       const PagedFakeOptions& options);

}  // namespace tickertape
