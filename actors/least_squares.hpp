// LeastSquares: three coefficients that are not negative, fitted in integers.
#pragma once
#include <array>
#include <cstdint>
#include <span>

namespace tickertape::actors {

__extension__ using Int128 = __int128;

/// A row of the problem: y is about x[0] * c[0] + x[1] * c[1] + x[2] * c[2]. All of them lie in
/// [0, 2^kFitBits], so that the determinants of kFitRows rows fit into 128 bits.
struct FitRow {
  std::array<std::uint32_t, 3> x{};
  std::uint32_t y = 0;
};
inline constexpr int kFitBits = 15;
inline constexpr std::size_t kFitRows = 1024;

/// num / den, times 2^bits, rounded down; at most 2^72. REQUIRES: 0 <= num; 0 < den < 2^126.
[[nodiscard]] Int128 scaled_ratio(Int128 num, Int128 den, int bits) noexcept;

/// A coefficient as a fraction.
struct FitRatio {
  Int128 num = 0;
  Int128 den = 1;
};

struct Fit {
  /// The columns differ enough to tell the three coefficients apart. Otherwise they are no more
  /// than one of several ways to say the same.
  bool is_sharp = false;
  std::array<FitRatio, 3> coefficients;
};

/// The coefficients, none negative, with the least sum of squares: the best of the solutions for
/// each set of columns whose coefficients are not negative (Lawson and Hanson, 1974: the optimum
/// is one of them). REQUIRES: at most kFitRows rows.
[[nodiscard]] Fit fit_not_negative(std::span<const FitRow> rows);

}  // namespace tickertape::actors
