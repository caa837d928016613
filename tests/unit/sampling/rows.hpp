// Rows of logits for tests, from a fixed seed.
#pragma once
#include <cstdint>
#include <random>
#include <vector>

namespace tickertape::test {

/// Integers from mt19937 are the same everywhere, distributions of the library are not.
class Rows {
 public:
  explicit Rows(std::uint32_t seed) : engine_(seed) {}

  [[nodiscard]] double uniform() { return (engine_() + 0.5) / 4294967296.0; }
  [[nodiscard]] std::uint32_t below(std::uint32_t bound) { return engine_() % bound; }

  /// Roughly normal logits of the given spread. With `step` they are its multiples: many ties.
  [[nodiscard]] std::vector<float> logits(std::size_t size, double spread, double step = 0) {
    std::vector<float> row(size);
    for (float& logit : row) {
      double value = (uniform() + uniform() + uniform() + uniform() - 2) * 1.7 * spread;
      if (step > 0) value = static_cast<int>(value / step) * step;
      logit = static_cast<float>(value);
    }
    return row;
  }

 private:
  std::mt19937 engine_;
};

}  // namespace tickertape::test
