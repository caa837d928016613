// Batch and BatchResult: one ragged forward pass and what it gives, as plain integers.
#pragma once
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <tickertape/logit_processor.hpp>
#include <tickertape/sampling.hpp>
#include <tickertape/tokenizer.hpp>

namespace tickertape {

using SlotId = std::uint32_t;  ///< A place for a sequence in the batch: 0 .. max_num_seqs - 1.
using PageId = std::uint32_t;  ///< A page of a layer group's KV pool: 0 .. num_pages - 1.

/// Stands in a page table for a page that no row will ever read again.
inline constexpr PageId kNoPage = std::numeric_limits<PageId>::max();

enum class RowSource : std::uint8_t {
  ids,  ///< The row's tokens stand in Batch::ids.
  /// The token that the backend sampled last for `source_slot` (one token), maybe in a pass that
  /// is still under way. When that row came to nothing, nobody looks at what this one gives.
  last_token_of
};

enum class RowOutput : std::uint8_t {
  none,         ///< Only K and V are wanted (all prefill chunks but the last).
  sample,       ///< One sampled token after each of the trailing `num_outputs` positions.
  hidden,       ///< The final hidden state of the trailing `num_outputs` positions (embeddings).
  all_logprobs  ///< Per trailing position the log-probability of the token that follows it.
};

/// One sequence's share of a pass: `num_tokens` tokens at positions first_position and on.
/// Before the pass, positions [0, first_position) are in the pages; it writes those of the row.
/// Positions that were written may be written again: rejected drafts, padding. The slot's history
/// is that of the last writing; rows without output beyond what was sampled are not part of it.
struct Row {
  SlotId slot = 0;
  std::uint32_t first_position = 0;
  std::uint32_t num_tokens = 0;
  RowSource source = RowSource::ids;
  std::uint32_t first_id = 0;  ///< Index into Batch::ids when source is `ids`.
  SlotId source_slot = 0;      ///< When source is `last_token_of`.
  RowOutput output = RowOutput::none;
  std::uint32_t num_outputs = 0;   ///< Trailing positions that give output; <= num_tokens.
  std::uint32_t adapter = 0;       ///< 0 = the bare model.
  std::int32_t mask = -1;          ///< Index of a vocabulary mask in Batch::masks; -1 = none.
  std::int32_t num_logprobs = -1;  ///< -1 none, 0 the chosen token's, k also the k most likely.
};

/// The page tables of one layer group in CSR form: row r owns
/// pages[offsets[r] .. offsets[r + 1]), token position p lies in page p / page_size of them. Those
/// that lie wholly before what a group's window shows the row may be kNoPage.
struct PageTables {
  std::vector<std::uint32_t> offsets;  ///< [num_rows + 1]
  std::vector<PageId> pages;
};

/// Tells the backend what a slot stands for from this pass on: once per admit, resume and fork.
struct OpenedSlot {
  SlotId slot = 0;
  SamplingParams sampling;
  std::uint64_t seed = 0;           ///< The seed in force (params' own, or the drawn one).
  std::uint32_t choice = 0;         ///< Which of a request's n choices.
  std::uint32_t prompt_length = 0;  ///< Tokens of the prompt; what follows was generated.
  std::uint32_t first_token = 0;    ///< Index into Batch::opened_ids of the tokens so far.
  std::uint32_t num_tokens = 0;     ///< Prompt and generated tokens known so far.

  /// With min_tokens: tokens that are impossible before so many were generated (end and stop
  /// tokens).
  std::vector<TokenId> suppressed;
  std::shared_ptr<const LogitProcessor> processor;  ///< May be null.
};

/// One ragged pass. Rows are in no particular order and have distinct slots.
///
/// For `all_logprobs` rows Batch::ids holds, after the row's num_tokens ids, one more: the id that
/// follows the last position, or -1 when none is known; then the backend samples there too.
struct Batch {
  std::vector<Row> rows;
  std::vector<TokenId> ids;
  std::vector<PageTables> page_tables;  ///< One per layer group of BackendInfo.
  std::vector<OpenedSlot> opened;
  std::vector<TokenId> opened_ids;
  std::vector<SlotId> closed;                     ///< Slots that end before this pass.
  std::vector<std::vector<std::uint64_t>> masks;  ///< Bit per vocabulary entry; 1 = allowed.

  [[nodiscard]] std::uint32_t num_tokens() const noexcept {
    std::uint32_t sum = 0;
    for (const Row& row : rows) sum += row.num_tokens;
    return sum;
  }
};

struct TokenLogprob {
  TokenId token = 0;
  float logprob = 0;  ///< Natural log; finite: at least kLogprobFloor.
  friend bool operator==(const TokenLogprob&, const TokenLogprob&) = default;
};

/// What stands for minus infinity, so that every number is valid JSON.
inline constexpr float kLogprobFloor = -9999.0F;

/// Log-probabilities at one output position: of the token that follows (given or sampled), and the
/// most likely ones, sorted by falling probability, then by id.
struct PositionLogprobs {
  TokenLogprob chosen;
  std::uint32_t first_top = 0;  ///< Index into BatchResult::top.
  std::uint32_t num_top = 0;
};

/// What one row of the batch gave; indexes point into BatchResult's arrays.
struct RowResult {
  std::uint32_t first_token = 0;  ///< Sampled tokens: tokens[first_token ..).
  std::uint32_t num_tokens = 0;
  std::uint32_t first_logprob = 0;  ///< One entry per output position when asked for.
  std::uint32_t num_logprobs = 0;
  std::uint32_t first_hidden = 0;  ///< num_outputs x embedding_size floats when asked for.
  bool bad_numbers = false;        ///< NaN or infinity met: the row has no tokens, others are fine.
  std::string fault;  ///< The row has no tokens for this reason (its LogitProcessor's); else empty.
};

enum class PassStatus : std::uint8_t {
  ok,
  failed,    ///< The backend failed; `fault` says how. No row has a result.
  abandoned  ///< stop_requested() was seen between layers.
};

/// The result of a pass; rows in the batch's order.
struct BatchResult {
  PassStatus status = PassStatus::ok;
  std::string fault;
  std::vector<RowResult> rows;
  std::vector<TokenId> tokens;
  std::vector<PositionLogprobs> logprobs;
  std::vector<TokenLogprob> top;
  std::vector<float> hidden;
};

}  // namespace tickertape
