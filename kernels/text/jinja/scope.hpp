// Scope: the variables of a block, inside of those of the blocks around it.
#pragma once
#include <utility>
#include <vector>

#include "kernels/text/jinja/syntax_tree.hpp"

namespace tickertape::kernels::text::jinja {

class Scope {
 public:
  explicit Scope(Scope* parent) : parent_(parent) {}

  /// In this scope or one around it; nullptr when there is none.
  [[nodiscard]] const Value* find(Symbol symbol) const noexcept {
    for (const Scope* scope = this; scope != nullptr; scope = scope->parent_) {
      for (const auto& [name, value] : scope->variables_) {
        if (name == symbol) return &value;
      }
    }
    return nullptr;
  }
  /// In this scope, whatever stands in those around it.
  void set(Symbol symbol, Value value) {
    for (auto& [name, old] : variables_) {
      if (name == symbol) {
        old = std::move(value);
        return;
      }
    }
    variables_.emplace_back(symbol, std::move(value));
  }
  void clear() noexcept { variables_.clear(); }

  /// Something that may outlive the block remembers this scope and those around it.
  void hold() noexcept {
    for (Scope* scope = this; scope != nullptr && !scope->held_; scope = scope->parent_) {
      scope->held_ = true;
    }
  }
  [[nodiscard]] bool held() const noexcept { return held_; }

 private:
  Scope* parent_;
  std::vector<std::pair<Symbol, Value>> variables_;
  bool held_ = false;
};

}  // namespace tickertape::kernels::text::jinja
