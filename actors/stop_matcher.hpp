// StopMatcher: finds stop strings in a text that comes in pieces.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tickertape::actors {

/// The stop strings of a request as an automaton (A. V. Aho and M. J. Corasick, "Efficient string
/// matching: an aid to bibliographic search", CACM 18(6), 1975). Immutable: the choices share it.
class StopStrings {
 public:
  /// REQUIRES: none of them is empty.
  explicit StopStrings(std::vector<std::string> stops);

  using State = std::uint32_t;  ///< 0 = no stop string has begun.

  [[nodiscard]] State next(State state, unsigned char byte) const;
  /// Bytes of the longest beginning of a stop string that the text ends with.
  [[nodiscard]] std::size_t depth(State state) const { return nodes_[state].depth; }
  /// The longest stop string that the text ends with, or -1.
  [[nodiscard]] int match(State state) const { return nodes_[state].match; }
  [[nodiscard]] const std::string& at(int index) const {
    return stops_[static_cast<std::size_t>(index)];
  }

 private:
  struct Node {
    std::map<unsigned char, State> children;
    State fallback = 0;  ///< The longest shorter beginning that the text ends with.
    std::size_t depth = 0;
    int match = -1;
  };

  void link();

  std::vector<std::string> stops_;
  std::vector<Node> nodes_;
};

/// Follows the text of one choice. Text that may be the beginning of a stop string is held back, so
/// what was given out is never taken back.
class StopMatcher {
 public:
  explicit StopMatcher(std::shared_ptr<const StopStrings> stops) : stops_(std::move(stops)) {}

  /// Takes the next piece and gives the text that is certain now. When a stop string is complete,
  /// that is the text before it (with `include_stop`: up to its end) and stopped_by() tells which:
  /// the one that ends first, of those that end there the longest. REQUIRES: not stopped.
  [[nodiscard]] std::string push(std::string_view piece, bool include_stop);

  /// The text that was held back: no more comes.
  [[nodiscard]] std::string flush();

  /// Null while no stop string was found.
  [[nodiscard]] const std::string* stopped_by() const noexcept { return stopped_by_; }

 private:
  std::shared_ptr<const StopStrings> stops_;
  StopStrings::State state_ = 0;
  std::string held_;
  const std::string* stopped_by_ = nullptr;
};

}  // namespace tickertape::actors
