// PageNames: a number for each content of a page, so that planning compares numbers only.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <tickertape/tokenizer.hpp>

namespace tickertape::actors {

using PageName = std::uint64_t;  ///< 0 = no name. Never used again for another content.

/// Two pages have the same name if, and only if, they hold the same tokens after the same tokens
/// under the same salt: names form a tree, and tokens are compared exactly (a hash alone could be
/// made to collide by whoever chooses prompts; the hash is keyed besides).
///
/// A name lives while somebody holds a reference; a child holds one on its parent.
///
/// Thread rules: the lane. A plain value. Names are numbered in the order in which they were made,
/// whatever the key. O(page_size) per call, but for the end of a chain that nobody else needs.
class PageNames {
 public:
  /// `key` seeds the hash. REQUIRES: page_size > 0. Of each hash `hash_bits` bits are kept; tests
  /// take few, so that contents collide.
  explicit PageNames(std::uint32_t page_size, std::uint64_t key, unsigned hash_bits = 64);

  /// The parent of first pages; one per salt (and later adapter). Adds a reference.
  [[nodiscard]] PageName root(std::string_view salt);
  /// The name of the page with these page_size tokens after `parent`. Adds a reference.
  [[nodiscard]] PageName child(PageName parent, std::span<const TokenId> tokens);
  /// The same name if somebody holds it, else 0. Adds no reference.
  [[nodiscard]] PageName find_child(PageName parent, std::span<const TokenId> tokens) const;
  void add_reference(PageName name);
  void drop_reference(PageName name);

  [[nodiscard]] std::size_t size() const noexcept;  ///< Names that live, roots included.

 private:
  struct Node {
    PageName parent = 0;  ///< 0: a root, whose tokens are the bytes of its salt.
    PageName next = 0;    ///< With the same hash.
    std::uint64_t hash = 0;
    std::uint64_t references = 0;
    std::vector<TokenId> tokens;
  };

  [[nodiscard]] std::uint64_t hash_of(PageName parent, std::span<const TokenId> tokens) const;
  [[nodiscard]] PageName find(std::uint64_t hash, PageName parent,
                              std::span<const TokenId> tokens) const;
  [[nodiscard]] PageName find_or_add(PageName parent, std::span<const TokenId> tokens);
  void unlink(PageName name, const Node& node);

  std::uint32_t page_size_;
  std::uint64_t key_;
  std::uint64_t hash_mask_;
  PageName last_ = 0;
  std::unordered_map<PageName, Node> nodes_;
  std::unordered_map<std::uint64_t, PageName> first_;  ///< By hash.
};

}  // namespace tickertape::actors
