// Object: values with behaviour: namespaces, macros, loops, functions, methods.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/text/jinja/value.hpp"

namespace tickertape::kernels::text::jinja {

class Runtime;

struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;
  bool names_marked = false;  ///< Some of the names came from a message, through **.
};

/// Belongs to the rendering that made it.
class Object {
 public:
  Object() = default;
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  virtual ~Object() = default;

  /// As Python's type would be called, for messages.
  [[nodiscard]] virtual std::string_view type_name() const noexcept = 0;
  [[nodiscard]] virtual std::optional<Value> attribute(Runtime&, std::string_view /*name*/) {
    return std::nullopt;
  }
  /// False: the object cannot be assigned to.
  [[nodiscard]] virtual bool set_attribute(Runtime&, std::string_view /*name*/, Value) {
    return false;
  }
  [[nodiscard]] virtual bool callable() const noexcept { return false; }
  [[nodiscard]] virtual Value call(Runtime&, Arguments) {
    fail("'" + std::string(type_name()) + "' object is not callable");
  }
};

}  // namespace tickertape::kernels::text::jinja
