// SpecialTokens: building and walking the trie.
#include "kernels/text/special_tokens.hpp"

#include <algorithm>

namespace tickertape::kernels::text {
namespace {
// The root is nobody's child, so its number can say "no such child".
constexpr std::uint32_t kRoot = 0;

bool first_less(const std::pair<char, std::uint32_t>& entry, char byte) {
  return entry.first < byte;
}
}  // namespace

std::uint32_t SpecialTokens::child(std::uint32_t node, char byte) const noexcept {
  const auto& children = nodes_[node].children;
  const auto at = std::lower_bound(children.begin(), children.end(), byte, first_less);
  return at != children.end() && at->first == byte ? at->second : kRoot;
}

void SpecialTokens::add(std::string_view text, TokenId id, bool control) {
  if (text.empty()) return;
  std::uint32_t node = kRoot;
  for (const char byte : text) {
    std::uint32_t next = child(node, byte);
    if (next == kRoot) {
      next = static_cast<std::uint32_t>(nodes_.size());
      nodes_.emplace_back();
      auto& children = nodes_[node].children;
      const auto at = std::lower_bound(children.begin(), children.end(), byte, first_less);
      children.insert(at, {byte, next});
    }
    node = next;
  }
  if (nodes_[node].id >= 0) return;
  nodes_[node].id = id;
  nodes_[node].control = control;
}

SpecialTokens::Match SpecialTokens::match(std::string_view text, std::size_t at,
                                          std::size_t control_end) const noexcept {
  Match longest;
  std::uint32_t node = kRoot;
  for (std::size_t i = at; i < text.size(); ++i) {
    node = child(node, text[i]);
    if (node == kRoot) break;
    if (nodes_[node].id >= 0 && (!nodes_[node].control || i + 1 <= control_end)) {
      longest = {nodes_[node].id, i + 1 - at};
    }
  }
  return longest;
}

}  // namespace tickertape::kernels::text
