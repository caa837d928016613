// Runtime: attributes, items and calls.
#include "kernels/text/jinja/runtime.hpp"

#include "kernels/text/jinja/operators.hpp"
#include "kernels/text/jinja/python.hpp"

namespace tickertape::kernels::text::jinja {
namespace {

/// A method that was read and not called at once.
class BoundMethod final : public Object {
 public:
  BoundMethod(const Native& native, Value owner) : native_(native), owner_(std::move(owner)) {}
  [[nodiscard]] std::string_view type_name() const noexcept override {
    return "builtin_function_or_method";
  }
  [[nodiscard]] bool callable() const noexcept override { return true; }
  [[nodiscard]] Value call(Runtime& run, Arguments arguments) override {
    return invoke(run, native_, owner_, std::move(arguments));
  }

 private:
  const Native& native_;
  Value owner_;
};

/// Names come from the template, keys may come from a message: those are not repeated.
std::string missing(const Value& value, std::string_view name) {
  const std::string owner = value.is(Kind::none) ? "None" : "'" + type_name(value) + " object'";
  return owner + " has no attribute '" + std::string(name) + "'";
}

Undefined undefined(std::string why) {
  return Undefined{std::make_shared<const std::string>(std::move(why))};
}

std::optional<Value> member_of_group(const Value& value, std::string_view name) {
  if (!value.is(Kind::list) || value.list()->kind() != ListKind::group) return std::nullopt;
  if (name == "grouper") return value.list()->items()[0];
  if (name == "list") return value.list()->items()[1];
  return std::nullopt;
}

}  // namespace

std::optional<Value> Runtime::find_attribute(const Value& value, std::string_view name) {
  if (value.is(Kind::object)) return value.object()->attribute(*this, name);
  if (auto member = member_of_group(value, name)) return member;
  if (const Native* method = find_method(value, name)) {
    return Value(make<BoundMethod>(*method, value));
  }
  if (is_forbidden_method(value, name)) {
    return Value(undefined("access to attribute '" + std::string(name) + "' of '" +
                           type_name(value) + "' object is unsafe"));
  }
  return std::nullopt;
}

Value Runtime::attribute_only(const Value& value, std::string_view name) {
  require_defined(value);
  if (auto found = find_attribute(value, name)) return *std::move(found);
  return undefined(missing(value, name));
}

Value Runtime::attribute(const Value& value, std::string_view name) {
  require_defined(value);
  if (auto found = find_attribute(value, name)) return *std::move(found);
  if (value.is(Kind::dict)) {
    if (const Value* found = value.dict()->find(name)) return *found;
  }
  return undefined(missing(value, name));
}

Value Runtime::item(const Value& value, const Value& key) {
  require_defined(value);
  if (auto found = item_at(&budget_, value, key)) return *std::move(found);
  if (key.is(Kind::text)) {
    if (auto found = find_attribute(value, key.text()->bytes())) return *std::move(found);
    if (!key.text()->any_marked()) return undefined(missing(value, key.text()->bytes()));
  }
  return undefined("'" + type_name(value) + "' object has no such item");
}

Value Runtime::call(const Value& value, Arguments arguments) {
  require_defined(value);
  if (!value.is(Kind::object)) fail("'" + type_name(value) + "' object is not callable");
  check_stack();
  return value.object()->call(*this, std::move(arguments));
}

Value Runtime::call_method(const Value& value, std::string_view name, Arguments arguments) {
  if (!value.is(Kind::object)) {
    if (const Native* method = find_method(value, name)) {
      return invoke(*this, *method, value, std::move(arguments));
    }
  }
  return call(attribute(value, name), std::move(arguments));
}

void Runtime::check_stack() const {
  const char* const here = static_cast<const char*>(__builtin_frame_address(0));
  const auto used = stack_base_ > here ? stack_base_ - here : here - stack_base_;
  if (static_cast<std::size_t>(used) > kMaxStackBytes) fail_bound("nests too deeply");
}

}  // namespace tickertape::kernels::text::jinja
