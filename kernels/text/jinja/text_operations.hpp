// Text operations: what both filters and methods do with strings.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "kernels/text/jinja/value.hpp"

namespace tickertape::kernels::text::jinja {

[[nodiscard]] TextPtr part_of(Budget* budget, const Text& text, std::size_t begin, std::size_t end);

/// With the characters that HTML gives a meaning written as references.
void append_escaped(TextBuilder& out, const Text& text);

/// Every character in another case. With `title`, the first letter of each word only; the others
/// become lower case.
[[nodiscard]] TextPtr cased(Budget* budget, const Text& text, Case to);
/// The first character as a title, the others lower.
[[nodiscard]] TextPtr capitalized(Budget* budget, const Text& text);

/// Without the characters of `set` at the ends that are named; white space when it is null.
[[nodiscard]] TextPtr stripped(Budget* budget, const Text& text, const Text* set, bool left,
                               bool right);

/// The first `count` places of `from` become `to`; all when it is negative.
[[nodiscard]] TextPtr replaced(Budget* budget, const Text& text, const Text& from, const Text& to,
                               std::int64_t count);

/// str.split(): at `separator`, or at white space when it is null, at most `most` times (no limit
/// when negative), counted from the end with `from_right`.
[[nodiscard]] std::vector<Value> split(Budget* budget, const Text& text, const Text* separator,
                                       std::int64_t most, bool from_right);
[[nodiscard]] std::vector<TextPtr> lines_of(Budget* budget, const Text& text, bool keep_ends);

/// The items as texts with `separator` between them.
[[nodiscard]] TextPtr joined(Budget* budget, const Text& separator,
                             const std::vector<Value>& items);

/// Filled up with `fill` to `width` characters; `left` and `right` name the sides to fill.
[[nodiscard]] TextPtr padded(Budget* budget, const Text& text, std::int64_t width, const Text& fill,
                             bool left, bool right);

}  // namespace tickertape::kernels::text::jinja
