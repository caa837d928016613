// LeastSquares: three coefficients that are not negative, fitted in integers.
#include "actors/least_squares.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <tickertape/assert.hpp>

namespace tickertape::actors {
namespace {

using Column = std::array<Int128, 3>;
using Matrix = std::array<Column, 3>;

/// Sums over the rows: of products of columns, of columns with y, of y squared.
struct Sums {
  Matrix xx{};
  Column xy{};
  Int128 yy = 0;
};

/// Columns are told apart when this share (2^-kSharpBits) of their squares is not explained by the
/// other columns: with errors of a few percent and hundreds of rows the coefficients then have
/// errors of some ten percent at the worst.
constexpr int kSharpBits = 12;
/// Sums of squares are compared with so many fractional bits in the coefficients.
constexpr int kErrorBits = 30;

Sums sum(std::span<const FitRow> rows) {
  std::array<std::array<std::uint64_t, 4>, 4> total{};
  for (const FitRow& row : rows) {
    const std::array<std::uint64_t, 4> value{row.x[0], row.x[1], row.x[2], row.y};
    for (std::size_t i = 0; i < 4; ++i) {
      for (std::size_t j = i; j < 4; ++j) total[i][j] += value[i] * value[j];
    }
  }
  Sums sums;
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 3; ++j) sums.xx[i][j] = total[std::min(i, j)][std::max(i, j)];
    sums.xy[i] = total[i][3];
  }
  sums.yy = total[3][3];
  return sums;
}

/// The matrix with the columns that are not in `set` made those of the unit matrix, so that one
/// determinant serves all sets.
Matrix restrict_to(const Matrix& matrix, unsigned set) {
  Matrix result{};
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 3; ++j) {
      const bool inside = (set >> i & 1) != 0 && (set >> j & 1) != 0;
      result[i][j] = inside ? matrix[i][j] : Int128{i == j};
    }
  }
  return result;
}

Int128 determinant(const Matrix& m) noexcept {
  return m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) -
         m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0]) +
         m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0]);
}

bool is_sharp(const Matrix& m, Int128 det) noexcept {
  return det > 0 && det >= m[0][0] * m[1][1] * m[2][2] >> kSharpBits;
}

/// Cramer's rule for the columns of `set`; none when they are not sharp or one would be negative.
std::optional<std::array<FitRatio, 3>> solve(const Sums& sums, unsigned set) {
  const Matrix matrix = restrict_to(sums.xx, set);
  const Int128 det = determinant(matrix);
  if (!is_sharp(matrix, det)) return std::nullopt;
  std::array<FitRatio, 3> solution;
  for (std::size_t j = 0; j < 3; ++j) {
    if ((set >> j & 1) == 0) continue;
    Matrix replaced = matrix;
    for (std::size_t i = 0; i < 3; ++i) {
      replaced[i][j] = (set >> i & 1) != 0 ? sums.xy[i] : Int128{0};
    }
    solution[j] = {determinant(replaced), det};
    if (solution[j].num < 0) return std::nullopt;
  }
  return solution;
}

/// The sum of squares that a solution leaves, times 2^kErrorBits: y y - c . x y.
Int128 error_of(const Sums& sums, const std::array<FitRatio, 3>& solution) {
  Int128 error = sums.yy << kErrorBits;
  for (std::size_t j = 0; j < 3; ++j) {
    error -= scaled_ratio(solution[j].num, solution[j].den, kErrorBits) * sums.xy[j];
  }
  return error;
}

}  // namespace

Int128 scaled_ratio(Int128 num, Int128 den, int bits) noexcept {
  constexpr Int128 kMost = Int128{1} << 72;
  Int128 quotient = num / den;
  Int128 rest = num % den;
  for (; bits > 0 && quotient < kMost; --bits) {
    rest *= 2;
    quotient = quotient * 2 + (rest >= den ? 1 : 0);
    if (rest >= den) rest -= den;
  }
  if (bits < 0) quotient >>= std::min(-bits, 126);
  return std::min(quotient, kMost);
}

Fit fit_not_negative(std::span<const FitRow> rows) {
  TICKERTAPE_ASSERT(rows.size() <= kFitRows);
  const Sums sums = sum(rows);
  Fit fit;
  fit.is_sharp = is_sharp(sums.xx, determinant(sums.xx));
  std::optional<Int128> least;
  for (unsigned set = 7; set > 0; --set) {
    const auto solution = solve(sums, set);
    if (!solution) continue;
    const Int128 error = error_of(sums, *solution);
    if (least && error >= *least) continue;
    least = error;
    fit.coefficients = *solution;
  }
  return fit;
}

}  // namespace tickertape::actors
