// Runtime: what filters, methods and objects may ask of a rendering.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/text/jinja/native.hpp"
#include "kernels/text/jinja/object.hpp"

namespace tickertape::kernels::text::jinja {

/// Seconds since 1970.
using Clock = std::function<std::int64_t()>;

/// Owns the objects of one rendering and counts what it uses. One thread.
class Runtime {
 public:
  /// `clock` must outlive this; it is asked by strftime_now().
  Runtime(const Limits& limits, const Clock& clock) : budget_(limits), clock_(clock) {}
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  [[nodiscard]] Budget* budget() noexcept { return &budget_; }
  [[nodiscard]] std::int64_t now_s() const { return clock_(); }

  /// Makes an object that lives as long as the rendering.
  template <class T, class... Args>
  T* make(Args&&... args) {
    budget_.take(sizeof(T) + kObjectBytes);
    auto object = std::make_unique<T>(std::forward<Args>(args)...);
    T* const raw = object.get();
    objects_.push_back(std::move(object));
    return raw;
  }

  [[nodiscard]] Value text(std::string_view bytes, bool marked = false) {
    return make_text(&budget_, bytes, marked);
  }

  /// value.name: methods and attributes first, then items, as Jinja does it; an undefined value
  /// when there is neither. Throws TemplateError when `value` is undefined.
  [[nodiscard]] Value attribute(const Value& value, std::string_view name);
  /// The same without items.
  [[nodiscard]] Value attribute_only(const Value& value, std::string_view name);
  /// value[key]: items first, then attributes.
  [[nodiscard]] Value item(const Value& value, const Value& key);
  /// value(arguments).
  [[nodiscard]] Value call(const Value& value, Arguments arguments);
  /// value.name(arguments).
  [[nodiscard]] Value call_method(const Value& value, std::string_view name, Arguments arguments);

  /// Stack that a rendering may use below its start.
  static constexpr std::size_t kMaxStackBytes = 320 * 1024;
  /// Throws TemplateError when the native stack has grown too far since the rendering began.
  void check_stack() const;

 private:
  static constexpr std::size_t kObjectBytes = 32;
  [[nodiscard]] std::optional<Value> find_attribute(const Value& value, std::string_view name);

  Budget budget_;
  const Clock& clock_;
  const char* stack_base_ = static_cast<const char*>(__builtin_frame_address(0));
  std::vector<std::unique_ptr<Object>> objects_;
};

}  // namespace tickertape::kernels::text::jinja
