// Live: counts its copies, so that a test sees whether every frame was destroyed exactly once.
#pragma once
#include <boost/test/unit_test.hpp>
#include <cstdint>

#include "runtime/sim_scheduler.hpp"

namespace tickertape::runtime::test {

/// A local of a coroutine under test.
class Live {
 public:
  Live() { ++count_; }
  Live(const Live&) { ++count_; }
  Live& operator=(const Live&) = default;
  ~Live() { --count_; }
  static int count() { return count_; }

 private:
  static inline int count_ = 0;
};

/// Builds a World(SimScheduler&) again and again and destroys it after 0, 1, 2, ... steps, until
/// one ran dry. Frames must be gone each time; the address sanitizer sees whoever touches them
/// later.
template <class World>
void abandon_everywhere(std::uint64_t seed, bool delays) {
  for (std::uint64_t num_steps = 0;; ++num_steps) {
    bool moved = true;
    {
      SimScheduler scheduler(seed);
      if (delays) scheduler.delay_posts(256, 1'000);
      World world(scheduler);
      for (std::uint64_t i = 0; i < num_steps && moved; ++i) moved = scheduler.step();
    }
    BOOST_REQUIRE_EQUAL(Live::count(), 0);
    if (!moved) return;
    BOOST_REQUIRE_LT(num_steps, 10'000u);
  }
}

}  // namespace tickertape::runtime::test
