// LoopState: attributes and recursion.
#include "kernels/text/jinja/loop_state.hpp"

#include "kernels/text/jinja/python.hpp"

namespace tickertape::kernels::text::jinja {
namespace {

class LoopMethod final : public Object {
 public:
  LoopMethod(LoopState& loop, bool cycles) : loop_(loop), cycles_(cycles) {}
  [[nodiscard]] std::string_view type_name() const noexcept override { return "method"; }
  [[nodiscard]] bool callable() const noexcept override { return true; }
  [[nodiscard]] Value call(Runtime& run, Arguments arguments) override {
    if (cycles_) return loop_.cycle(arguments);
    return loop_.changed(run, std::move(arguments));
  }

 private:
  LoopState& loop_;
  bool cycles_;
};

}  // namespace

Value LoopState::neighbour(std::int64_t index) const {
  if (items_ && index >= 0 && index < size_) {
    return items_->items()[static_cast<std::size_t>(index)];
  }
  const char* why = index < 0 ? "there is no previous item" : "there is no next item";
  return Undefined{std::make_shared<const std::string>(why)};
}

std::optional<Value> LoopState::attribute(Runtime& run, std::string_view name) {
  if (name == "index") return Value(index_ + 1);
  if (name == "index0") return Value(index_);
  if (name == "revindex") return Value(size_ - index_);
  if (name == "revindex0") return Value(size_ - index_ - 1);
  if (name == "first") return Value(index_ == 0);
  if (name == "last") return Value(index_ + 1 == size_);
  if (name == "length") return Value(size_);
  if (name == "depth") return Value(depth_ + 1);
  if (name == "depth0") return Value(depth_);
  if (name == "previtem") return neighbour(index_ - 1);
  if (name == "nextitem") return neighbour(index_ + 1);
  if (name == "cycle" || name == "changed") {
    return Value(run.make<LoopMethod>(*this, name == "cycle"));
  }
  return std::nullopt;
}

Value LoopState::call(Runtime&, Arguments arguments) {
  if (!loop_.recursive) fail("the loop is not marked as recursive");
  if (arguments.positional.size() != 1) fail("loop() needs the items to go on with");
  return interpreter_.call_loop(loop_, closure_, arguments.positional[0], depth_ + 1);
}

Value LoopState::cycle(const Arguments& arguments) const {
  const auto& values = arguments.positional;
  if (values.empty()) fail("cycle() needs values");
  return values[static_cast<std::size_t>(index_) % values.size()];
}

bool LoopState::changed(Runtime& run, Arguments arguments) {
  Value now = make_list(run.budget(), std::move(arguments.positional), ListKind::tuple);
  if (last_ && equal(run.budget(), *last_, now)) return false;
  last_ = std::move(now);
  return true;
}

}  // namespace tickertape::kernels::text::jinja
