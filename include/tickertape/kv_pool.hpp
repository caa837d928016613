// KvPool: who holds which page of the KV cache, and which pages hold what once was computed.
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

/// What a full page holds: the same name stands for the same tokens after the same tokens. Whoever
/// gives names sees to that; 0 = no name.
using PageName = std::uint64_t;

struct KvPoolOptions {
  std::uint32_t num_pages = 0;   ///< REQUIRES: > 0.
  std::uint32_t page_size = 16;  ///< Token places per page. REQUIRES: a power of two.
};

/// The pages that hold `num_tokens` tokens. REQUIRES: page_size > 0.
[[nodiscard]] constexpr std::uint32_t pages_for(std::uint32_t num_tokens,
                                                std::uint32_t page_size) noexcept {
  return num_tokens == 0 ? 0 : (num_tokens - 1) / page_size + 1;
}

/// A page to copy: on the device before the target is written, or from one pool to the other.
struct PageCopy {
  PageId from = 0;
  PageId to = 0;
  friend bool operator==(const PageCopy&, const PageCopy&) = default;
};

/// The book of pages: a plain value without coroutine, lock or device memory. The allocator actor
/// is its only owner in an engine.
///
/// A page with a name is kept when nobody holds it any more (it is cached), until its place is
/// needed; the one that was held longest ago goes first, and of a sequence the tail before the
/// head.
///
/// Invariants, asserted where they could break and recounted by check():
///   free + cached + held == num_pages;
///   a page's reference count is the number of page tables that it stands in;
///   grow() gives all the pages asked for, or none;
///   a page that is written next (make_writable) stands in one table only and has no name;
///   a name belongs to one page.
class KvPool {
 public:
  explicit KvPool(KvPoolOptions options);

  /// Gives `owner` pages for `num_tokens` tokens in all; tables never shrink here. False, and
  /// nothing changed, when too few are available. Never preempts: choosing a victim is policy.
  [[nodiscard]] bool grow(SequenceId owner, std::uint32_t num_tokens);

  /// Takes `owner` out of all its pages; returns how many nobody holds any more. An owner without
  /// pages is allowed and gives 0.
  std::uint32_t release(SequenceId owner);

  /// Gives back the pages of `owner` before page `index` of its table, where kNoPage then stands:
  /// layers with a window need them no more. REQUIRES: the table has as many.
  void release_before(SequenceId owner, std::uint32_t index);

  /// `to` shares the pages that hold the first `num_tokens` tokens of `from`, but for those before
  /// page `first`, where it has kNoPage.
  /// REQUIRES: `to` holds nothing; `from` has that many token places.
  void fork(SequenceId from, SequenceId to, std::uint32_t num_tokens, std::uint32_t first = 0);

  /// Before token `position` of `owner` is written: if its page is shared or has a name, gives the
  /// owner one of its own and says what to copy. False, and nothing changed, when none is
  /// available. REQUIRES: the page was not given back.
  [[nodiscard]] bool make_writable(SequenceId owner, std::uint32_t position,
                                   std::optional<PageCopy>& copy);

  /// Gives back the pages beyond the first `num_tokens` tokens (rejected drafts).
  void truncate(SequenceId owner, std::uint32_t num_tokens);

  /// Says what page `index` of `owner` holds, now that all its places are computed. Without effect
  /// when the page has a name or was given back, or another page has this name.
  void name(SequenceId owner, std::uint32_t index, PageName name);

  /// How many of these names, from the first on without a gap, are there.
  struct Match {
    std::uint32_t num_pages = 0;
    std::uint32_t num_cached = 0;  ///< Those of them that nobody holds.
  };
  [[nodiscard]] Match match(std::span<const PageName> names) const;
  /// Whether a page has this name.
  [[nodiscard]] bool has(PageName name) const { return named_.contains(name); }

  /// `owner` shares the pages with these names, from page `first` of its table on; before them it
  /// has kNoPage. REQUIRES: it holds nothing; all are there.
  void attach(SequenceId owner, std::span<const PageName> names, std::uint32_t first = 0);

  /// Names that pages have come to have, and lost, since the last call; one may be in both.
  struct NameChanges {
    std::vector<PageName> added;
    std::vector<PageName> dropped;
  };
  [[nodiscard]] NameChanges take_name_changes();

  /// The pages of `owner` in token order, kNoPage for those given back. Valid until a call that
  /// changes this owner's table.
  [[nodiscard]] std::span<const PageId> pages(SequenceId owner) const;

  [[nodiscard]] std::uint32_t pages_for(std::uint32_t num_tokens) const noexcept {
    return tickertape::pages_for(num_tokens, options_.page_size);
  }
  [[nodiscard]] std::uint32_t num_free() const noexcept {
    return static_cast<std::uint32_t>(free_.size());
  }
  [[nodiscard]] std::uint32_t num_cached() const noexcept { return num_cached_; }
  [[nodiscard]] std::uint32_t num_held() const noexcept { return num_held_; }
  /// Pages that grow() could give.
  [[nodiscard]] std::uint32_t num_available() const noexcept { return num_free() + num_cached_; }
  [[nodiscard]] std::uint32_t references(PageId page) const { return pages_.at(page).references; }
  [[nodiscard]] PageName name_of(PageId page) const { return pages_.at(page).name; }
  [[nodiscard]] std::size_t num_owners() const noexcept { return tables_.size(); }
  [[nodiscard]] const KvPoolOptions& options() const noexcept { return options_; }

  /// Recounts everything and aborts when an invariant is broken. O(pages + tables).
  void check() const;

 private:
  struct Page {
    std::uint32_t references = 0;
    PageName name = 0;
    PageId before = kNoPage;  ///< In the list of cached pages.
    PageId behind = kNoPage;
  };

  PageId take_page();
  void hold(PageId page);
  bool drop_reference(PageId page);
  void unlink(PageId page);
  void forget_name(PageId page);

  KvPoolOptions options_;
  std::vector<PageId> free_;
  std::vector<Page> pages_;
  PageId oldest_ = kNoPage;  ///< Of the cached pages.
  PageId newest_ = kNoPage;
  std::uint32_t num_cached_ = 0;
  std::uint32_t num_held_ = 0;
  std::unordered_map<SequenceId, std::vector<PageId>> tables_;
  std::unordered_map<PageName, PageId> named_;
  NameChanges changes_;
};

}  // namespace tickertape
