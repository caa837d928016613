// BpeMerges: a heap of candidate pairs over a linked list of symbols.
#include "kernels/text/bpe_merges.hpp"

#include <algorithm>
#include <bit>
#include <limits>

#include <tickertape/assert.hpp>

namespace tickertape::kernels::text {
namespace {
constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
}  // namespace

void BpeMerges::reserve(std::size_t count) {
  TICKERTAPE_ASSERT(table_.empty());
  table_.resize(std::bit_ceil(std::max<std::size_t>(2 * count, 2)));
}

std::size_t BpeMerges::slot_of(TokenId left, TokenId right) const noexcept {
  const std::uint64_t key =
      std::uint64_t{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right);
  const std::uint64_t hash = key * 0x9e3779b97f4a7c15U;
  const std::size_t mask = table_.size() - 1;
  std::size_t slot = (hash >> 32) & mask;
  while (table_[slot].merged >= 0 && (table_[slot].left != left || table_[slot].right != right)) {
    slot = (slot + 1) & mask;
  }
  return slot;
}

void BpeMerges::add(TokenId left, TokenId right, TokenId merged, std::uint32_t rank) {
  TICKERTAPE_ASSERT(2 * (num_merges_ + 1) <= table_.size());
  Entry& entry = table_[slot_of(left, right)];
  if (entry.merged >= 0) return;
  entry = {left, right, merged, rank};
  ++num_merges_;
}

void BpeMerges::consider(std::uint32_t left, std::uint32_t right, Scratch& scratch) const {
  if (left == kNone || right == kNone || table_.empty()) return;
  const TokenId left_id = scratch.symbols_[left].id;
  const TokenId right_id = scratch.symbols_[right].id;
  const Entry& entry = table_[slot_of(left_id, right_id)];
  ++scratch.num_candidates_;
  if (entry.merged < 0) return;
  scratch.heap_.push_back({entry.rank, left, right, left_id, right_id, entry.merged});
}

void BpeMerges::merge(std::string_view word, Scratch& scratch, std::vector<TokenId>& out) const {
  TICKERTAPE_ASSERT(word.size() < kNone);
  auto& symbols = scratch.symbols_;
  auto& heap = scratch.heap_;
  // Positions rise from left to right, so the heap breaks ties of rank by place.
  const auto later = [](const Scratch::Candidate& a, const Scratch::Candidate& b) {
    return a.rank != b.rank ? a.rank > b.rank : a.left > b.left;
  };
  symbols.clear();
  heap.clear();
  for (const char byte : word) {
    const TokenId id = byte_ids_[static_cast<unsigned char>(byte)];
    if (id < 0) continue;
    const auto at = static_cast<std::uint32_t>(symbols.size());
    if (at > 0) symbols.back().next = at;
    symbols.push_back({id, at == 0 ? kNone : at - 1, kNone});
  }
  for (std::uint32_t i = 1; i < symbols.size(); ++i) consider(i - 1, i, scratch);
  std::make_heap(heap.begin(), heap.end(), later);

  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), later);
    const Scratch::Candidate best = heap.back();
    heap.pop_back();
    Scratch::Symbol& left = symbols[best.left];
    Scratch::Symbol& right = symbols[best.right];
    // An earlier merge may have changed either side since the pair was found.
    if (left.id != best.left_id || right.id != best.right_id || left.next != best.right) continue;
    left.id = best.merged_id;
    left.next = right.next;
    right.id = -1;
    if (left.next != kNone) symbols[left.next].previous = best.left;
    for (const auto& [first, second] :
         {std::pair{left.previous, best.left}, std::pair{best.left, left.next}}) {
      const std::size_t before = heap.size();
      consider(first, second, scratch);
      if (heap.size() != before) std::push_heap(heap.begin(), heap.end(), later);
    }
  }
  for (const Scratch::Symbol& symbol : symbols) {
    if (symbol.id >= 0) out.push_back(symbol.id);
  }
}

}  // namespace tickertape::kernels::text
