// StopMatcher: finds stop strings in a text that comes in pieces.
#include "actors/stop_matcher.hpp"

#include <deque>
#include <utility>

#include <tickertape/assert.hpp>

namespace tickertape::actors {

StopStrings::StopStrings(std::vector<std::string> stops) : stops_(std::move(stops)), nodes_(1) {
  for (std::size_t i = 0; i < stops_.size(); ++i) {
    TICKERTAPE_ASSERT(!stops_[i].empty());
    State state = 0;
    for (const char c : stops_[i]) {
      const auto byte = static_cast<unsigned char>(c);
      const auto child = nodes_[state].children.find(byte);
      if (child != nodes_[state].children.end()) {
        state = child->second;
        continue;
      }
      const auto added = static_cast<State>(nodes_.size());
      Node node;
      node.depth = nodes_[state].depth + 1;
      nodes_.push_back(std::move(node));
      nodes_[state].children.emplace(byte, added);
      state = added;
    }
    if (nodes_[state].match < 0) nodes_[state].match = static_cast<int>(i);
  }
  link();
}

/// Breadth first: a node's fallback is nearer to the root than the node.
void StopStrings::link() {
  std::deque<State> queue;
  for (const auto& [byte, child] : nodes_[0].children) queue.push_back(child);
  while (!queue.empty()) {
    const State state = queue.front();
    queue.pop_front();
    for (const auto& [byte, child] : nodes_[state].children) {
      nodes_[child].fallback = next(nodes_[state].fallback, byte);
      queue.push_back(child);
    }
    // Its own match, if it has one, is the longer one.
    if (nodes_[state].match < 0) nodes_[state].match = nodes_[nodes_[state].fallback].match;
  }
}

StopStrings::State StopStrings::next(State state, unsigned char byte) const {
  for (;;) {
    const Node& node = nodes_[state];
    const auto child = node.children.find(byte);
    if (child != node.children.end()) return child->second;
    if (state == 0) return 0;
    state = node.fallback;
  }
}

std::string StopMatcher::push(std::string_view piece, bool include_stop) {
  TICKERTAPE_ASSERT(stopped_by_ == nullptr);
  held_ += piece;
  for (std::size_t i = 0; i < piece.size(); ++i) {
    state_ = stops_->next(state_, static_cast<unsigned char>(piece[i]));
    const int match = stops_->match(state_);
    if (match < 0) continue;
    stopped_by_ = &stops_->at(match);
    const std::size_t end = held_.size() - piece.size() + i + 1;
    held_.resize(include_stop ? end : end - stopped_by_->size());
    return std::exchange(held_, {});
  }
  const std::size_t keep = stops_->depth(state_);
  std::string certain = held_.substr(0, held_.size() - keep);
  held_.erase(0, certain.size());
  return certain;
}

std::string StopMatcher::flush() {
  state_ = 0;
  return std::exchange(held_, {});
}

}  // namespace tickertape::actors
