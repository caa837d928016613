// Abandonment: an engine that ends, or is destroyed, at every step of its life.
#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <iostream>

#include "tests/sim/world.hpp"

namespace {

using tickertape::FinishReason;
using tickertape::sim::World;
using tickertape::sim::WorldOptions;
using tickertape::sim::WorldResult;

/// Small, so that every step can be tried, and with everything in it: choices, preemption by a
/// small pool, delayed posts, readers of every kind.
WorldOptions small_world(std::uint64_t seed) {
  WorldOptions options = WorldOptions::draw(seed);
  options.num_requests = 6;
  options.max_prompt = 12;
  options.max_new = 12;
  options.num_pages = 64 / options.page_size + 2;
  options.choices = true;
  options.stop_early = false;
  options.kill_executor = false;
  return options;
}

constexpr std::uint64_t kNumWorlds = 12;

/// The number of steps that a world takes.
std::uint64_t count_steps(const WorldOptions& options) {
  World world(options);
  world.start();
  std::uint64_t count = 0;
  while (world.step()) ++count;
  return count;
}

/// Calls visit(world, last) for each world after each of its steps, from none to the last one.
template <class Visit>
void after_every_step(Visit visit) {
  for (std::uint64_t seed = 1; seed <= kNumWorlds; ++seed) {
    const WorldOptions options = small_world(seed);
    const std::uint64_t num_steps = count_steps(options);
    for (std::uint64_t last = 0; last <= num_steps; ++last) {
      World world(options);
      world.start();
      for (std::uint64_t i = 0; i < last; ++i) BOOST_REQUIRE(world.step());
      visit(world, last);
    }
  }
}

BOOST_AUTO_TEST_CASE(every_await_point_is_abandoned) {
  // Destroying the frames where they wait must neither touch what is gone nor leave anything: the
  // sanitizers' builds judge.
  std::uint64_t num_abandoned = 0;
  after_every_step([&](World&, std::uint64_t) { ++num_abandoned; });
  BOOST_TEST(num_abandoned > 2000U);
}

BOOST_AUTO_TEST_CASE(a_stop_at_every_step_ends_every_request) {
  std::uint64_t num_shut_down = 0;
  after_every_step([&](World& world, std::uint64_t last) {
    world.stop_engine();
    const WorldResult result = world.finish();
    BOOST_TEST(result.broken == "", "stopped after step " << last << ": " << result.broken);
    num_shut_down += result.finished[static_cast<std::size_t>(FinishReason::shutdown)];
  });
  BOOST_TEST(num_shut_down > 2000U);
  std::cout << num_shut_down << " requests ended by a stop\n";
}

}  // namespace
