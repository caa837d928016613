// LoopState: the `loop` variable.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "kernels/text/jinja/interpreter.hpp"

namespace tickertape::kernels::text::jinja {

class LoopState final : public Object {
 public:
  LoopState(Interpreter& interpreter, const Statement& loop, Scope& closure, ListPtr items,
            std::int64_t depth)
      : interpreter_(interpreter),
        loop_(loop),
        closure_(closure),
        items_(std::move(items)),
        size_(static_cast<std::int64_t>(items_->size())),
        depth_(depth) {}

  void move_to(std::int64_t index) noexcept { index_ = index; }
  /// Lets go of the items: the object itself lives as long as the rendering.
  void finish() noexcept { items_.reset(); }

  [[nodiscard]] std::string_view type_name() const noexcept override { return "LoopContext"; }
  [[nodiscard]] std::optional<Value> attribute(Runtime& run, std::string_view name) override;
  [[nodiscard]] bool callable() const noexcept override { return true; }
  [[nodiscard]] Value call(Runtime& run, Arguments arguments) override;

  /// loop.cycle(...): the argument whose turn it is.
  [[nodiscard]] Value cycle(const Arguments& arguments) const;
  /// loop.changed(...): whether the arguments differ from those of the last call.
  [[nodiscard]] bool changed(Runtime& run, Arguments arguments);

 private:
  [[nodiscard]] Value neighbour(std::int64_t index) const;

  Interpreter& interpreter_;
  const Statement& loop_;
  Scope& closure_;
  ListPtr items_;  ///< Null once the loop has ended.
  std::int64_t size_;
  std::int64_t depth_;
  std::int64_t index_ = 0;
  std::optional<Value> last_;
};

}  // namespace tickertape::kernels::text::jinja
