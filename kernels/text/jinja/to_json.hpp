// JSON text of values, as Python's json.dumps writes it.
#pragma once
#include <string>

#include "kernels/text/jinja/value.hpp"

namespace tickertape::kernels::text::jinja {

struct JsonStyle {
  bool ascii_only = false;
  bool sort_keys = false;
  /// Of one level; null: everything on one line.
  TextPtr indent;
  TextPtr item_separator;
  TextPtr key_separator;
};

/// Throws TemplateError for values that JSON cannot hold.
[[nodiscard]] TextPtr to_json(Budget* budget, const Value& value, const JsonStyle& style);

}  // namespace tickertape::kernels::text::jinja
