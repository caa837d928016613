// PassModel: how long a pass takes, fitted online.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "actors/least_squares.hpp"

namespace tickertape::actors {

/// time = base + tokens * per_token + context * per_context, by least squares of the relative error
/// over the last few hundred passes, in integer arithmetic (128 bit sums), so that a recording
/// replays bit for bit. `context`: for each token of the pass the tokens that it attends to,
/// summed.
///
/// Passes are kept by the octave of their tokens, the last kPerOctave of each: the many passes of
/// single tokens do not push out the few with a prompt, from which the rest is learned.
///
/// Outliers (a pass that took more than kOutlier times what the model says) count less, so that a
/// pause of the machine does not shrink every chunk after it; when most passes are such, the model
/// follows. Negative coefficients become 0, and the others are fitted without them.
///
/// observe() costs nanoseconds, but for each eighth call, which fits: some twenty microseconds.
class PassModel {
 public:
  static constexpr std::uint64_t kMaxTokens = 1ULL << 24;            ///< More counts as so many.
  static constexpr std::uint64_t kMaxContext = 1ULL << 40;           ///< The same.
  static constexpr std::int64_t kMaxDurationNs = 1'000'000'000'000;  ///< The same.
  static constexpr std::size_t kPerOctave = 32;
  static constexpr std::int64_t kOutlier = 2;

  /// Passes without tokens, and those that took no time, tell nothing and are ignored.
  void observe(std::uint64_t tokens, std::uint64_t context, std::int64_t duration_ns);

  /// False until it has seen enough different passes to tell the coefficients apart. Stays true.
  [[nodiscard]] bool ready() const noexcept { return ready_; }
  /// REQUIRES: ready().
  [[nodiscard]] std::int64_t estimate_ns(std::uint64_t tokens,
                                         std::uint64_t context) const noexcept;
  /// What it adds to compute the first `num_tokens` tokens of a sequence, over however many passes.
  /// `num_passes`: those that would not be run without it; 0 beside others that run anyway.
  /// REQUIRES: ready().
  [[nodiscard]] std::int64_t prefill_ns(std::uint32_t num_tokens,
                                        std::uint32_t num_passes) const noexcept;
  /// The most prompt tokens (after `position` tokens of their own sequence) that fit beside a pass
  /// of `tokens` and `context` within `limit_ns`; at most `most`; 0 when even none fit. REQUIRES:
  /// ready().
  [[nodiscard]] std::uint32_t tokens_within(std::int64_t limit_ns, std::uint64_t tokens,
                                            std::uint64_t context, std::uint32_t position,
                                            std::uint32_t most) const noexcept;

 private:
  struct Pass {
    std::uint64_t tokens = 0;
    std::uint64_t context = 0;
    std::int64_t duration_ns = 0;
  };
  struct Octave {
    std::vector<Pass> passes;  ///< At most kPerOctave.
    std::size_t next = 0;      ///< The oldest, when full.
  };
  /// Nanoseconds times 2^32: of each pass, per token, per token of context.
  using Coefficients = std::array<Int128, 3>;

  [[nodiscard]] static std::int64_t time_ns(const Coefficients& coefficients, Int128 tokens,
                                            Int128 context) noexcept;
  [[nodiscard]] std::vector<Pass> known_passes() const;
  [[nodiscard]] bool is_varied() const noexcept;
  /// One round of the fit, with the weights that `expected` (times in ns) gives.
  [[nodiscard]] static bool fit(const std::vector<Pass>& passes,
                                const std::vector<std::int64_t>& expected,
                                Coefficients& coefficients);
  void refit();

  std::array<Octave, 25> octaves_;  ///< By the bits of the number of tokens, less one.
  std::uint64_t num_observed_ = 0;
  bool ready_ = false;
  Coefficients coefficients_{};
};

}  // namespace tickertape::actors
