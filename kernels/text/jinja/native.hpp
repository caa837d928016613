// Native: a filter, test, method or function that the engine itself has, and a call of one.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/text/jinja/object.hpp"
#include "kernels/text/jinja/value.hpp"

namespace tickertape::kernels::text::jinja {

class Call;

struct Native {
  std::string_view name;
  /// Names of the parameters, separated by spaces. A last "*" takes further positional arguments,
  /// "**" named ones too.
  std::string_view parameters;
  Value (*function)(Call& call);
};

/// A call with its arguments in the order of the parameters.
class Call {
 public:
  /// Throws TemplateError for arguments that the parameters do not take.
  Call(Runtime& run, const Native& native, const Value& self, Arguments arguments);

  [[nodiscard]] Runtime& run() const noexcept { return run_; }
  [[nodiscard]] Budget* budget() const noexcept;
  [[nodiscard]] const Native& native() const noexcept { return native_; }
  /// The filtered or tested value, or the method's owner.
  [[nodiscard]] const Value& self() const noexcept { return self_; }
  /// The same as a text, as printing would write it.
  [[nodiscard]] TextPtr self_text() const;

  [[nodiscard]] bool has(std::size_t i) const noexcept {
    return i < bound_.size() && bound_[i].set;
  }
  /// Throws TemplateError when the argument is not given.
  [[nodiscard]] const Value& arg(std::size_t i) const;
  [[nodiscard]] Value arg_or(std::size_t i, Value missing) const;
  [[nodiscard]] bool flag_or(std::size_t i, bool missing) const;
  [[nodiscard]] std::int64_t integer_or(std::size_t i, std::int64_t missing) const;
  [[nodiscard]] std::int64_t integer(std::size_t i) const;
  /// Throws TemplateError unless the argument is a text.
  [[nodiscard]] TextPtr text(std::size_t i) const;

  /// Arguments beyond the parameters.
  [[nodiscard]] Arguments& rest() noexcept { return rest_; }

 private:
  struct Bound {
    Value value;
    bool set = false;
  };
  void bind_named(std::string name, Value value, std::span<const std::string_view> names,
                  bool takes_more);

  Runtime& run_;
  const Native& native_;
  const Value& self_;
  std::vector<Bound> bound_;
  Arguments rest_;
};

/// nullptr when there is none of this name.
[[nodiscard]] const Native* find_filter(std::string_view name) noexcept;
[[nodiscard]] const Native* find_test(std::string_view name) noexcept;
[[nodiscard]] const Native* find_function(std::string_view name) noexcept;
/// A method of the value's type. Those that would change it in place are not there.
[[nodiscard]] const Native* find_method(const Value& owner, std::string_view name) noexcept;
/// Whether Python's type has such a method and the sandbox keeps templates from it.
[[nodiscard]] bool is_forbidden_method(const Value& owner, std::string_view name) noexcept;

/// The tables behind the look-ups, one per file.
[[nodiscard]] std::span<const Native> text_filters() noexcept;
[[nodiscard]] std::span<const Native> layout_filters() noexcept;
[[nodiscard]] std::span<const Native> number_filters() noexcept;
[[nodiscard]] std::span<const Native> list_filters() noexcept;
[[nodiscard]] std::span<const Native> selection_filters() noexcept;
[[nodiscard]] std::span<const Native> text_methods() noexcept;
[[nodiscard]] std::span<const Native> text_predicates() noexcept;
[[nodiscard]] std::span<const Native> list_methods() noexcept;
[[nodiscard]] std::span<const Native> dict_methods() noexcept;
[[nodiscard]] std::span<const Native> tests() noexcept;
[[nodiscard]] std::span<const Native> functions() noexcept;

[[nodiscard]] Value invoke(Runtime& run, const Native& native, const Value& self,
                           Arguments arguments);

}  // namespace tickertape::kernels::text::jinja
