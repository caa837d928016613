// SpecialTokens: the strings that stand for one token wherever they are written.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include <tickertape/tokenizer.hpp>

namespace tickertape::kernels::text {

/// A trie of control and user-defined tokens. Immutable once built.
class SpecialTokens {
 public:
  struct Match {
    TokenId id = -1;       ///< -1: none.
    std::size_t size = 0;  ///< Bytes.
  };

  /// Adds a token; of two with the same text the first one wins, and an empty text is passed over.
  void add(std::string_view text, TokenId id, bool control);

  /// The longest token that starts at `at`. Control tokens count only when they end at or before
  /// `control_end`. Costs at most the length of the longest token, and one look-up of the first
  /// byte where none can start.
  [[nodiscard]] Match match(std::string_view text, std::size_t at,
                            std::size_t control_end) const noexcept;

 private:
  struct Node {
    std::vector<std::pair<char, std::uint32_t>> children;
    TokenId id = -1;
    bool control = false;
  };
  [[nodiscard]] std::uint32_t child(std::uint32_t node, char byte) const noexcept;

  std::vector<Node> nodes_{1};
};

}  // namespace tickertape::kernels::text
