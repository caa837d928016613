// The Unicode tables of letters and cases.
#pragma once
#include <cstdint>
#include <span>

namespace tickertape::kernels::text::jinja {

/// Every `step`-th code point from `first` to `last` has its other case at a distance of `delta`.
struct CaseRun {
  char32_t first;
  char32_t last;
  std::uint32_t step;
  std::int32_t delta;
};

/// A character whose other case is up to three characters; unused places are 0.
struct CaseExpansion {
  char32_t from;
  char32_t upper[3];
  char32_t title[3];
};

struct CodeRange {
  char32_t first;
  char32_t last;
};

/// All are sorted by code point and leave ASCII out.
[[nodiscard]] std::span<const CaseRun> upper_runs() noexcept;
[[nodiscard]] std::span<const CaseRun> lower_runs() noexcept;
[[nodiscard]] std::span<const CaseRun> title_runs() noexcept;
[[nodiscard]] std::span<const CaseExpansion> case_expansions() noexcept;
[[nodiscard]] std::span<const CodeRange> letters() noexcept;
[[nodiscard]] std::span<const CodeRange> decimals() noexcept;
[[nodiscard]] std::span<const CodeRange> other_digits() noexcept;

}  // namespace tickertape::kernels::text::jinja
