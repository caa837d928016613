// PassModel: how long a pass takes, fitted online.
#include "actors/pass_model.hpp"

#include <algorithm>
#include <bit>
#include <limits>

#include <tickertape/assert.hpp>

namespace tickertape::actors {
namespace {

__extension__ using Unsigned128 = unsigned __int128;

constexpr int kFractionBits = 32;  ///< Of the coefficients.
constexpr int kInverseBits = 63;   ///< A row is divided by its expected time: times 2^63 over it.
constexpr std::uint64_t kRefitEach = 8;
constexpr int kFirstRounds = 16;  ///< Rounds of weights and fit, without a model before it.
constexpr int kRounds = 2;        ///< And with one.
/// Fewer passes in an octave of tokens do not stand for it; and two octaves are needed.
constexpr std::size_t kMinPerOctave = 8;
/// So that tokens_within can add the longest prompt's context in 128 bits.
constexpr Int128 kMaxPerContext = Int128{1} << 60;

constexpr int bit_width(Unsigned128 value) noexcept {
  const auto high = static_cast<std::uint64_t>(value >> 64);
  return high != 0 ? 64 + std::bit_width(high) : std::bit_width(static_cast<std::uint64_t>(value));
}

/// A row before its columns are shifted to kFitBits.
using WideRow = std::array<Unsigned128, 4>;

std::uint32_t shift_rounded(Unsigned128 value, int shift) noexcept {
  const Unsigned128 half = shift == 0 ? 0 : Unsigned128{1} << (shift - 1);
  return static_cast<std::uint32_t>((value + half) >> shift);
}

}  // namespace

std::int64_t PassModel::time_ns(const Coefficients& coefficients, Int128 tokens,
                                Int128 context) noexcept {
  const Int128 time =
      coefficients[0] + coefficients[1] * tokens + coefficients[2] * context;  // Below 2^127.
  return static_cast<std::int64_t>(
      std::min(time >> kFractionBits, Int128{std::numeric_limits<std::int64_t>::max()}));
}

void PassModel::observe(std::uint64_t tokens, std::uint64_t context, std::int64_t duration_ns) {
  if (tokens == 0 || duration_ns <= 0) return;
  const Pass pass{std::min(tokens, kMaxTokens), std::min(context, kMaxContext),
                  std::min(duration_ns, kMaxDurationNs)};
  Octave& octave = octaves_.at(static_cast<std::size_t>(std::bit_width(pass.tokens)) - 1);
  if (octave.passes.size() < kPerOctave) {
    octave.passes.push_back(pass);
  } else {
    octave.passes[octave.next] = pass;
    octave.next = (octave.next + 1) % kPerOctave;
  }
  if (++num_observed_ % kRefitEach == 0) refit();
}

bool PassModel::is_varied() const noexcept {
  return std::ranges::count_if(octaves_, [](const Octave& octave) {
           return octave.passes.size() >= kMinPerOctave;
         }) >= 2;
}

std::vector<PassModel::Pass> PassModel::known_passes() const {
  std::vector<Pass> passes;
  for (const Octave& octave : octaves_) {
    passes.insert(passes.end(), octave.passes.begin(), octave.passes.end());
  }
  return passes;
}

/// Least squares of relative errors, so that short passes count as much as long ones: each row is
/// divided by the time that is expected of it. An outlier is cut to kOutlier times that time, and
/// its row is halved (a quarter of the weight): Huber's estimator by pseudo-values.
bool PassModel::fit(const std::vector<Pass>& passes, const std::vector<std::int64_t>& expected,
                    Coefficients& coefficients) {
  static_assert(kPerOctave * std::tuple_size_v<decltype(octaves_)> <= kFitRows);
  std::vector<WideRow> wide;
  wide.reserve(passes.size());
  WideRow most{};
  for (std::size_t i = 0; i < passes.size(); ++i) {
    const Pass& pass = passes[i];
    const std::int64_t limit_ns = kOutlier * expected[i];
    std::uint64_t inverse = (1ULL << kInverseBits) / static_cast<std::uint64_t>(expected[i]);
    if (pass.duration_ns > limit_ns) inverse /= 2;
    const auto time = static_cast<std::uint64_t>(std::min(pass.duration_ns, limit_ns));
    const WideRow row{inverse, Unsigned128{inverse} * pass.tokens,
                      Unsigned128{inverse} * pass.context, Unsigned128{inverse} * time};
    for (std::size_t j = 0; j < row.size(); ++j) most[j] = std::max(most[j], row[j]);
    wide.push_back(row);
  }

  std::array<int, 4> shifts{};
  for (std::size_t j = 0; j < most.size(); ++j)
    shifts[j] = std::max(bit_width(most[j]) - kFitBits, 0);
  std::vector<FitRow> rows;
  rows.reserve(wide.size());
  for (const WideRow& row : wide) {
    rows.push_back({{shift_rounded(row[0], shifts[0]), shift_rounded(row[1], shifts[1]),
                     shift_rounded(row[2], shifts[2])},
                    shift_rounded(row[3], shifts[3])});
  }
  const Fit found = fit_not_negative(rows);
  for (std::size_t j = 0; j < coefficients.size(); ++j) {
    const FitRatio& ratio = found.coefficients[j];
    coefficients[j] = scaled_ratio(ratio.num, ratio.den, kFractionBits + shifts[3] - shifts[j]);
  }
  coefficients[2] = std::min(coefficients[2], kMaxPerContext);
  return found.is_sharp;
}

void PassModel::refit() {
  if (!is_varied()) return;
  const std::vector<Pass> passes = known_passes();
  std::vector<std::int64_t> expected;
  expected.reserve(passes.size());
  Coefficients found = coefficients_;
  bool is_sharp = true;
  for (int round = 0; round < (ready_ ? kRounds : kFirstRounds) && is_sharp; ++round) {
    expected.clear();
    for (const Pass& pass : passes) {
      // Without a model: what each took itself, which makes little of those that took long.
      const bool has_model = ready_ || round > 0;
      const std::int64_t said_ns =
          has_model ? time_ns(found, pass.tokens, pass.context) : pass.duration_ns;
      expected.push_back(std::clamp(said_ns, std::int64_t{1}, kMaxDurationNs));
    }
    is_sharp = fit(passes, expected, found);
  }
  if (!is_sharp) return;  // An earlier model, if there is one, still says the most.
  coefficients_ = found;
  ready_ = true;
}

std::int64_t PassModel::estimate_ns(std::uint64_t tokens, std::uint64_t context) const noexcept {
  TICKERTAPE_ASSERT(ready_);
  return time_ns(coefficients_, std::min(tokens, kMaxTokens), std::min(context, kMaxContext));
}

std::int64_t PassModel::prefill_ns(std::uint32_t num_tokens,
                                   std::uint32_t num_passes) const noexcept {
  TICKERTAPE_ASSERT(ready_);
  // What the pieces attend to adds up to the same, however it is cut.
  const std::uint64_t context = std::uint64_t{num_tokens} * (std::uint64_t{num_tokens} + 1) / 2;
  const Int128 fixed = std::min(coefficients_[0], kMaxPerContext) * num_passes;
  return time_ns({fixed, coefficients_[1], coefficients_[2]}, num_tokens,
                 std::min(context, kMaxContext));
}

std::uint32_t PassModel::tokens_within(std::int64_t limit_ns, std::uint64_t tokens,
                                       std::uint64_t context, std::uint32_t position,
                                       std::uint32_t most) const noexcept {
  TICKERTAPE_ASSERT(ready_);
  const Int128 other_tokens = std::min(tokens, kMaxTokens);
  const Int128 other_context = std::min(context, kMaxContext);
  const auto fits = [&](Int128 count) {
    const Int128 attended = count * position + count * (count + 1) / 2;
    return time_ns(coefficients_, other_tokens + count, other_context + attended) <= limit_ns;
  };
  // The time rises with the count.
  std::uint32_t known = 0;
  std::uint32_t beyond = most;
  if (fits(most)) return most;
  while (beyond - known > 1) {
    const std::uint32_t middle = known + (beyond - known) / 2;
    (fits(middle) ? known : beyond) = middle;
  }
  return known;
}

}  // namespace tickertape::actors
