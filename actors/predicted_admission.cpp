// PredictedAdmission: admits by the peak of the demand for pages that the forecast foresees.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <string>

#include <tickertape/assert.hpp>
#include <tickertape/errors.hpp>

#include "actors/admission.hpp"
#include "actors/normal_quantile.hpp"

namespace tickertape::actors {
namespace {

__extension__ using Wide = unsigned __int128;

/// Distances ahead, in tokens, at which the demand is looked at.
struct Distances {
  static constexpr std::size_t kMost = 36;
  std::array<std::uint32_t, kMost> tokens{};
  std::size_t count = 0;

  void add(std::uint64_t distance) { tokens.at(count++) = static_cast<std::uint32_t>(distance); }
};

/// 1, then from one page on each octave up to `longest`, from kFinePages pages on also the middle
/// of each (unless there are more than kFineOctaves), and the last at which anybody runs. The peak
/// may lie between two of them; over half an octave demand changes little.
Distances distances_to(std::uint32_t longest, std::uint32_t page_size) {
  constexpr std::uint64_t kFinePages = 8;
  constexpr int kFineOctaves = 8;
  Distances distances;
  distances.add(1);
  const std::uint64_t fine =
      longest >> kFineOctaves <= page_size ? kFinePages * page_size : longest;
  for (std::uint64_t octave = std::max(page_size, 2U); octave < longest; octave *= 2) {
    distances.add(octave);
    const std::uint64_t between = octave + octave / 2;
    if (octave >= fine && between < longest) distances.add(between);
  }
  if (longest > distances.tokens[distances.count - 1] + 1) distances.add(longest - 1);
  return distances;
}

/// Mean and variance of the pages that are held at each distance.
class Demand {
 public:
  Demand(const AdmissionInput& input, const Distances& distances)
      : input_(input),
        distances_(distances),
        page_bits_(std::countr_zero(input.pool.page_size)),
        variance_bits_(std::max(static_cast<int>(std::bit_width(input.pool.num_pages)) - 16, 0)) {
    // Some of those that share them go on, about for certain.
    mean_.fill(std::uint64_t{input.pool.num_shared} * LengthForecast::kCertain);
  }

  /// All distances for everybody: a loop of the same length is faster than a shorter one. Products
  /// of two 32 bit numbers, so that several fit into a register.
  void add(const SequenceView& view) {
    constexpr std::uint32_t kCertain = LengthForecast::kCertain;
    const std::size_t count = distances_.count;
    std::array<std::uint32_t, Distances::kMost> survival;
    input_.forecast.survival(view, std::span(distances_.tokens).first(count),
                             std::span(survival).first(count));
    const std::uint32_t last = std::max(view.num_tokens, 1U) - 1;
    const std::uint32_t shared = std::min(view.shareable, (last >> page_bits_) + 1);
    for (std::size_t i = 0; i < count; ++i) {
      // Beyond 2^32 tokens nobody survives.
      const std::uint32_t pages = ((last + distances_.tokens[i]) >> page_bits_) + 1 - shared;
      const std::uint32_t coarse = std::min(pages >> variance_bits_, 0xffffU);
      const std::uint32_t chance = survival[i];
      const std::uint32_t spread = static_cast<std::uint32_t>(
          std::uint64_t{chance} * (kCertain - chance) >> 16);  // At most 2^14.
      mean_[i] += std::uint64_t{pages} * chance;
      variance_[i] += std::uint64_t{coarse} * (coarse * spread);
    }
  }

  /// Whether mean + z deviations <= limit at each distance; z and limit times 2^16. Squared, there
  /// is no root to take.
  [[nodiscard]] bool stays_within(std::uint64_t limit, std::int64_t z) const {
    for (std::size_t i = 0; i < distances_.count; ++i) {
      const bool mean_fits = mean_[i] <= limit;
      const std::uint64_t room = mean_fits ? limit - mean_[i] : mean_[i] - limit;
      const Wide room_squared = Wide{room} * room;                     // Times 2^32.
      const auto z_squared = static_cast<std::uint64_t>(z * z >> 16);  // Times 2^16.
      const Wide deviations_squared = Wide{variance_[i]} * z_squared
                                      << (2 * variance_bits_);  // Times 2^32.
      const bool fits = z >= 0 ? mean_fits && deviations_squared <= room_squared
                               : mean_fits || deviations_squared >= room_squared;
      if (!fits) return false;
    }
    return true;
  }

 private:
  const AdmissionInput& input_;
  const Distances& distances_;
  int page_bits_;
  int variance_bits_;  ///< Pages are so much coarser there: 16 bits are left.
  std::array<std::uint64_t, Distances::kMost> mean_{};      ///< Times 2^16.
  std::array<std::uint64_t, Distances::kMost> variance_{};  ///< Times 2^16, in coarse pages.
};

class Predicted final : public AdmissionPolicy {
 public:
  Predicted(std::int64_t z, std::uint32_t usable) : z_(z), usable_(usable) {}

  bool admit(const AdmissionInput& input) const override {
    const SequenceView& candidate = input.candidate;
    const PoolView& pool = input.pool;
    TICKERTAPE_ASSERT(std::has_single_bit(pool.page_size));
    if (!fits_now(input)) return false;
    if (input.running.empty()) return true;

    std::uint32_t longest = 0;
    std::uint64_t worst = pool.num_shared;  // When everybody goes on to the last token.
    const auto look = [&](const SequenceView& view) {
      const std::uint32_t tokens = std::max(view.max_tokens, view.num_tokens);
      longest = std::max(longest, tokens - view.num_tokens);
      worst += pages_for(tokens, pool.page_size) - view.shareable;
    };
    look(candidate);
    for (const SequenceView& view : input.running) look(view);
    if (worst <= pool.num_pages) return true;

    const Distances distances = distances_to(longest, pool.page_size);
    Demand demand(input, distances);
    demand.add(candidate);
    for (const SequenceView& view : input.running) demand.add(view);
    return demand.stays_within(std::uint64_t{pool.num_pages} * usable_, z_);
  }

 private:
  std::int64_t z_;        ///< Deviations above the mean, times 2^16.
  std::uint32_t usable_;  ///< The share of the pool that may be planned for, times 2^16.
};

/// `value` in parts of 2^bits; throws when it lies outside.
std::uint64_t parts_of(double value, int bits, bool with_one, const char* name) {
  const bool fits = value >= 0 && (with_one ? value <= 1 : value < 1);  // Also for "not a number".
  if (!fits) {
    throw Error(Errc::invalid_request, std::string("predicted admission: the ") + name + " is " +
                                           std::to_string(value) + "; expected 0 to " +
                                           (with_one ? "1" : "less than 1"));
  }
  return static_cast<std::uint64_t>(std::llround(std::ldexp(value, bits)));
}

}  // namespace

std::shared_ptr<const AdmissionPolicy> predicted_admission(double quantile, double buffer) {
  const std::int64_t z = normal_quantile(parts_of(quantile, 32, true, "quantile"));
  const std::uint64_t kept = parts_of(buffer, 16, false, "buffer");
  return std::make_shared<Predicted>(z, static_cast<std::uint32_t>((1U << 16) - kept));
}

}  // namespace tickertape::actors
