// KvPool: who holds which page of the KV cache.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include <tickertape/batch.hpp>

namespace tickertape {

using SequenceId = std::uint64_t;

struct KvPoolOptions {
  std::uint32_t num_pages = 0;   ///< REQUIRES: > 0.
  std::uint32_t page_size = 16;  ///< Token places per page. REQUIRES: a power of two.
};

/// The pages that hold `num_tokens` tokens. REQUIRES: page_size > 0.
[[nodiscard]] constexpr std::uint32_t pages_for(std::uint32_t num_tokens,
                                                std::uint32_t page_size) noexcept {
  return num_tokens == 0 ? 0 : (num_tokens - 1) / page_size + 1;
}

/// A page to copy before it is written: `from` is shared, `to` is the writer's own.
struct PageCopy {
  PageId from = 0;
  PageId to = 0;
};

/// The book of pages: a plain value without coroutine, lock or device memory. The allocator actor
/// is its only owner in an engine.
///
/// Invariants, asserted where they could break and recounted by check():
///   free + cached + held == num_pages;
///   a page's reference count is the number of page tables that it stands in;
///   grow() gives all the pages asked for, or none;
///   a page that is written next (make_writable) stands in one table only.
class KvPool {
 public:
  explicit KvPool(KvPoolOptions options);

  /// Gives `owner` pages for `num_tokens` tokens in all; tables never shrink here. False, and
  /// nothing changed, when too few are free. Never preempts: choosing a victim is policy.
  [[nodiscard]] bool grow(SequenceId owner, std::uint32_t num_tokens);

  /// Takes `owner` out of all its pages; returns how many became free. An owner without pages is
  /// allowed and gives 0.
  std::uint32_t release(SequenceId owner);

  /// `to` shares the pages that hold the first `num_tokens` tokens of `from`.
  /// REQUIRES: `to` holds nothing; `from` has that many token places.
  void fork(SequenceId from, SequenceId to, std::uint32_t num_tokens);

  /// Before token `position` of `owner` is written: if its page is shared, gives the owner one of
  /// its own and says what to copy. False, and nothing changed, when no page is free.
  [[nodiscard]] bool make_writable(SequenceId owner, std::uint32_t position,
                                   std::optional<PageCopy>& copy);

  /// Gives back the pages beyond the first `num_tokens` tokens (rejected drafts).
  void truncate(SequenceId owner, std::uint32_t num_tokens);

  /// The pages of `owner` in token order. Valid until the next call that is not const.
  [[nodiscard]] std::span<const PageId> pages(SequenceId owner) const;

  [[nodiscard]] std::uint32_t pages_for(std::uint32_t num_tokens) const noexcept {
    return tickertape::pages_for(num_tokens, options_.page_size);
  }
  [[nodiscard]] std::uint32_t num_free() const noexcept {
    return static_cast<std::uint32_t>(free_.size());
  }
  [[nodiscard]] std::uint32_t num_cached() const noexcept { return 0; }
  [[nodiscard]] std::uint32_t num_held() const noexcept { return num_held_; }
  [[nodiscard]] std::uint32_t references(PageId page) const { return references_.at(page); }
  [[nodiscard]] std::size_t num_owners() const noexcept { return tables_.size(); }
  [[nodiscard]] const KvPoolOptions& options() const noexcept { return options_; }

  /// Recounts everything and aborts when an invariant is broken. O(pages + tables).
  void check() const;

 private:
  PageId take_free();
  bool drop_reference(PageId page);

  KvPoolOptions options_;
  std::vector<PageId> free_;
  std::vector<std::uint32_t> references_;
  std::uint32_t num_held_ = 0;
  std::unordered_map<SequenceId, std::vector<PageId>> tables_;
};

}  // namespace tickertape
