// Selection: members by path and sorting by keys, for the filters that need them.
#pragma once
#include <vector>

#include "kernels/text/jinja/value.hpp"

namespace tickertape::kernels::text::jinja {

class Runtime;

/// "a.b.0" as the filters' `attribute` has it; an integer is an index.
class MemberPath {
 public:
  explicit MemberPath(const Value& attribute);
  /// The member of `value`, or `missing` where a step of the path is undefined and it is given.
  [[nodiscard]] Value of(Runtime& run, Value value, const Value* missing = nullptr) const;

 private:
  std::vector<Value> steps_;
};

/// The value to compare: texts in lower case unless `case_sensitive`.
[[nodiscard]] Value folded(Budget* budget, const Value& value, bool case_sensitive);

/// The items in the order of their keys; equal ones keep theirs.
[[nodiscard]] std::vector<Value> sorted(Budget* budget, const std::vector<Value>& items,
                                        const std::vector<Value>& keys, bool reverse);

}  // namespace tickertape::kernels::text::jinja
