// StopSource: asks everything that waits on one scheduler to give up waiting.
#pragma once
#include "runtime/intrusive_list.hpp"

namespace tickertape::runtime {

/// Hears of a stop once. Unregisters when destroyed.
struct StopNode : ListNode<StopNode> {
  void (*stop)(StopNode*) = nullptr;
};

/// Thread rules: one thread. To stop an actor of another scheduler, post to it.
class StopSource {
 public:
  StopSource() = default;
  StopSource(const StopSource&) = delete;
  StopSource& operator=(const StopSource&) = delete;

  [[nodiscard]] bool stopped() const noexcept { return stopped_; }

  /// Calls every registered node, in the order of registration. Only the first call does anything.
  void request_stop() {
    stopped_ = true;
    while (!nodes_.empty()) {
      StopNode& node = nodes_.front();
      node.unlink();
      node.stop(&node);
    }
  }

  /// Registers `node`. REQUIRES: !stopped().
  void add(StopNode& node) noexcept { nodes_.push_back(node); }

 private:
  IntrusiveList<StopNode> nodes_;
  bool stopped_ = false;
};

}  // namespace tickertape::runtime
