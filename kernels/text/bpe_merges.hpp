// BpeMerges: the ranked merges of a byte-level BPE vocabulary, and their application to a word.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include <tickertape/tokenizer.hpp>

namespace tickertape::kernels::text {

/// Byte pair encoding (Sennrich et al. 2016) over bytes: a word starts as its bytes, and the
/// adjacent pair of the lowest rank is merged, the leftmost of equals first, until no pair merges.
/// Immutable once built; merge() may be called from many threads, each with its own Scratch.
class BpeMerges {
 public:
  /// Working memory that is kept from word to word.
  class Scratch {
   public:
    /// Pairs looked at since construction; linear in the bytes given to merge().
    [[nodiscard]] std::uint64_t num_candidates() const noexcept { return num_candidates_; }

   private:
    friend class BpeMerges;
    struct Symbol {
      TokenId id;  ///< -1 once merged into its left neighbour.
      std::uint32_t previous;
      std::uint32_t next;
    };
    struct Candidate {
      std::uint32_t rank;
      std::uint32_t left;
      std::uint32_t right;
      TokenId left_id;
      TokenId right_id;
      TokenId merged_id;
    };
    std::vector<Symbol> symbols_;
    std::vector<Candidate> heap_;
    std::uint64_t num_candidates_ = 0;
  };

  BpeMerges() { byte_ids_.fill(-1); }

  /// Makes room for `count` merges; call it once, before add().
  void reserve(std::size_t count);
  /// The token of a single byte. The first one given wins.
  void set_byte(unsigned char byte, TokenId id) noexcept {
    if (byte_ids_[byte] < 0) byte_ids_[byte] = id;
  }
  /// The next merge in rank. A pair that is there already keeps its lower rank.
  void add(TokenId left, TokenId right, TokenId merged, std::uint32_t rank);

  /// Appends the ids of `word` to `out`; bytes without a token of their own are left out.
  /// O(n log n). REQUIRES: word.size() < 2^32 - 1.
  void merge(std::string_view word, Scratch& scratch, std::vector<TokenId>& out) const;

 private:
  struct Entry {
    TokenId left = -1;
    TokenId right = -1;
    TokenId merged = -1;
    std::uint32_t rank = 0;
  };

  /// The slot of a pair in the open-addressed table, or the empty slot where it belongs.
  [[nodiscard]] std::size_t slot_of(TokenId left, TokenId right) const noexcept;
  void consider(std::uint32_t left, std::uint32_t right, Scratch& scratch) const;

  std::array<TokenId, 256> byte_ids_{};
  std::vector<Entry> table_;  ///< A power of two of slots, at most half of them taken.
  std::size_t num_merges_ = 0;
};

}  // namespace tickertape::kernels::text
