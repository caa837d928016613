// PassSlice: a part of a batch that is computed at once, flat.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include <tickertape/batch.hpp>

namespace tickertape::kernels::cpu {

/// Neighbouring tokens of one row.
struct Segment {
  std::uint32_t row = 0;          ///< Of the batch.
  std::uint32_t first_token = 0;  ///< In the slice.
  std::uint32_t num_tokens = 0;
  std::uint32_t first_position = 0;  ///< In the sequence.
  std::span<const PageId> pages;     ///< Of the sequence, from position 0 on.
};

/// A position whose final state is wanted.
struct OutputPosition {
  std::uint32_t row = 0;    ///< Of the batch.
  std::uint32_t token = 0;  ///< In the slice.
  std::uint32_t index = 0;  ///< Among the row's outputs.
};

struct PassSlice {
  std::vector<TokenId> ids;
  std::vector<std::uint32_t> positions;
  std::vector<Segment> segments;
  std::vector<OutputPosition> outputs;

  [[nodiscard]] std::uint32_t num_tokens() const noexcept {
    return static_cast<std::uint32_t>(ids.size());
  }
};

/// Cuts a batch into slices of at most `max_tokens`, rows in order. A row that is cut goes on in
/// the next slice: by then its earlier keys and values are in the pages. The batch must outlive it.
class PassPlan {
 public:
  /// `last_tokens`: per slot the token that `last_token_of` stands for.
  PassPlan(const Batch& batch, std::span<const TokenId> last_tokens, std::uint32_t max_tokens)
      : batch_(batch), last_tokens_(last_tokens), max_tokens_(max_tokens) {}

  /// Fills `slice` with what comes next; false at the end.
  bool next(PassSlice& slice);

 private:
  void add_segment(PassSlice& slice, std::uint32_t count);

  const Batch& batch_;
  std::span<const TokenId> last_tokens_;
  std::uint32_t max_tokens_;
  std::uint32_t row_ = 0;
  std::uint32_t done_ = 0;  ///< Tokens of row_ that are in earlier slices.
};

}  // namespace tickertape::kernels::cpu
