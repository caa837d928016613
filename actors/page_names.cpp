// PageNames: a number for each content of a page, so that planning compares numbers only.
#include "actors/page_names.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include <tickertape/assert.hpp>

namespace tickertape::actors {
namespace {

/// SipHash-1-3 (Aumasson and Bernstein, 2012) over words: one round per word, three at the end.
class KeyedHash {
 public:
  explicit KeyedHash(std::uint64_t key) : KeyedHash(key, ~key * 0x9e3779b97f4a7c15) {}

  void add(std::uint64_t word) noexcept {
    d_ ^= word;
    round();
    a_ ^= word;
  }
  [[nodiscard]] std::uint64_t finish() noexcept {
    c_ ^= 0xff;
    for (int i = 0; i < 3; ++i) round();
    return a_ ^ b_ ^ c_ ^ d_;
  }

 private:
  KeyedHash(std::uint64_t k0, std::uint64_t k1)
      : a_(k0 ^ 0x736f6d6570736575),
        b_(k1 ^ 0x646f72616e646f6d),
        c_(k0 ^ 0x6c7967656e657261),
        d_(k1 ^ 0x7465646279746573) {}

  void round() noexcept {
    a_ += b_;
    c_ += d_;
    b_ = std::rotl(b_, 13) ^ a_;
    d_ = std::rotl(d_, 16) ^ c_;
    a_ = std::rotl(a_, 32) + d_;
    c_ += b_;
    d_ = std::rotl(d_, 21) ^ a_;
    b_ = std::rotl(b_, 17) ^ c_;
    c_ = std::rotl(c_, 32);
  }

  std::uint64_t a_, b_, c_, d_;
};

}  // namespace

PageNames::PageNames(std::uint32_t page_size, std::uint64_t key, unsigned hash_bits)
    : page_size_(page_size), key_(key), hash_mask_(~std::uint64_t{0} >> (64 - hash_bits)) {
  TICKERTAPE_ASSERT(page_size > 0 && hash_bits >= 1 && hash_bits <= 64);
}

PageName PageNames::root(std::string_view salt) {
  const std::vector<TokenId> bytes(salt.begin(), salt.end());
  return find_or_add(0, bytes);
}

PageName PageNames::child(PageName parent, std::span<const TokenId> tokens) {
  TICKERTAPE_ASSERT(tokens.size() == page_size_ && nodes_.contains(parent));
  return find_or_add(parent, tokens);
}

PageName PageNames::find_child(PageName parent, std::span<const TokenId> tokens) const {
  TICKERTAPE_ASSERT(tokens.size() == page_size_ && nodes_.contains(parent));
  return find(hash_of(parent, tokens), parent, tokens);
}

void PageNames::add_reference(PageName name) {
  ++nodes_.at(name).references;
}

void PageNames::drop_reference(PageName name) {
  // A loop: a chain may have as many pages as the pool.
  while (name != 0) {
    const auto found = nodes_.find(name);
    TICKERTAPE_ASSERT(found != nodes_.end() && found->second.references > 0);
    Node& node = found->second;
    if (--node.references > 0) return;
    unlink(name, node);
    name = node.parent;
    nodes_.erase(found);
  }
}

std::size_t PageNames::size() const noexcept {
  return nodes_.size();
}

std::uint64_t PageNames::hash_of(PageName parent, std::span<const TokenId> tokens) const {
  const auto word = [&](std::size_t i) {
    return i < tokens.size() ? std::uint64_t{static_cast<std::uint32_t>(tokens[i])} : 0;
  };
  KeyedHash hash(key_);
  hash.add(parent);
  hash.add(tokens.size());
  for (std::size_t i = 0; i < tokens.size(); i += 2) hash.add(word(i) | word(i + 1) << 32);
  return hash.finish() & hash_mask_;
}

PageName PageNames::find(std::uint64_t hash, PageName parent,
                         std::span<const TokenId> tokens) const {
  const auto place = first_.find(hash);
  PageName name = place == first_.end() ? 0 : place->second;
  while (name != 0) {
    const Node& node = nodes_.at(name);
    if (node.parent == parent && std::ranges::equal(node.tokens, tokens)) return name;
    name = node.next;
  }
  return 0;
}

PageName PageNames::find_or_add(PageName parent, std::span<const TokenId> tokens) {
  const std::uint64_t hash = hash_of(parent, tokens);
  if (const PageName name = find(hash, parent, tokens); name != 0) {
    add_reference(name);
    return name;
  }
  const PageName name = last_ + 1;
  Node node;
  node.parent = parent;
  node.hash = hash;
  node.references = 1;
  node.tokens.assign(tokens.begin(), tokens.end());
  PageName& first = first_[hash];
  node.next = first;
  nodes_.emplace(name, std::move(node));
  first = name;
  last_ = name;
  if (parent != 0) add_reference(parent);
  return name;
}

void PageNames::unlink(PageName name, const Node& node) {
  const auto place = first_.find(node.hash);
  TICKERTAPE_ASSERT(place != first_.end());
  if (place->second == name) {
    place->second = node.next;
    if (node.next == 0) first_.erase(place);
    return;
  }
  PageName before = place->second;
  while (nodes_.at(before).next != name) before = nodes_.at(before).next;
  nodes_.at(before).next = node.next;
}

}  // namespace tickertape::actors
