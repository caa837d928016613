// Simulations: every seed is a workload with its own faults; the promises are checked after each
// plan and at the end. Replay one with TICKERTAPE_SEED=N.
#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>
#include <iostream>

#include <tickertape/recording.hpp>

#include <unistd.h>

#include "tests/sim/world.hpp"

namespace {

using tickertape::EngineStats;
using tickertape::sim::World;
using tickertape::sim::WorldOptions;
using tickertape::sim::WorldResult;

WorldResult run_world(std::uint64_t seed) {
  return World(WorldOptions::draw(seed)).run();
}

std::uint64_t setting(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

/// Runs as many worlds as the environment asks for, else `otherwise`, and tells the first few that
/// broke a promise; returns how many it ran.
template <class Take>
std::uint64_t run_worlds(WorldOptions (*draw)(std::uint64_t), std::uint64_t otherwise, Take take) {
  const std::uint64_t first = setting("TICKERTAPE_SEED", 1);
  const std::uint64_t count =
      std::getenv("TICKERTAPE_SEED") ? 1 : setting("TICKERTAPE_SEEDS", otherwise);
  std::uint64_t num_broken = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const WorldResult result = World(draw(seed)).run();
    if (!result.broken.empty() && ++num_broken <= 5) BOOST_ERROR(result.broken);
    take(result);
  }
  BOOST_TEST(num_broken == 0U);
  return count;
}

BOOST_AUTO_TEST_CASE(every_promise_holds_over_many_seeds) {
  WorldResult sum;
  const auto add_all = [&](const WorldResult& result) {
    sum.preemptions += result.preemptions;
    sum.ticks += result.ticks;
    sum.parked_seen += result.parked_seen;
    sum.copied_pages += result.copied_pages;
    sum.stopped_by_string += result.stopped_by_string;
    for (std::size_t i = 0; i < sum.finished.size(); ++i) sum.finished[i] += result.finished[i];
  };
  const std::uint64_t count = run_worlds(WorldOptions::draw, 4000, add_all);
  std::cout << count << " seeds, " << sum.ticks << " ticks, " << sum.preemptions
            << " preemptions, ends:";
  for (std::size_t i = 0; i < sum.finished.size(); ++i) {
    std::cout << ' ' << to_string(static_cast<tickertape::FinishReason>(i)) << '='
              << sum.finished[i];
  }
  std::cout << '\n';
  if (count < 1000) return;
  // Probes: the rare things did happen.
  BOOST_TEST(sum.preemptions > 1000U);
  BOOST_TEST(sum.parked_seen > 100U);
  BOOST_TEST(sum.copied_pages > 1000U);
  BOOST_TEST(sum.stopped_by_string > 500U);
  for (std::size_t i = 1; i < sum.finished.size(); ++i) {
    BOOST_TEST(sum.finished[i] > 10U, "ends of kind " << i);
  }
}

void add(EngineStats& sum, const EngineStats& one) {
  sum.recompute_preemptions += one.recompute_preemptions;
  sum.swap_preemptions += one.swap_preemptions;
  sum.pages_swapped_in += one.pages_swapped_in;
  sum.prefix_hits += one.prefix_hits;
  sum.prompt_padding_tokens += one.prompt_padding_tokens;
  sum.finished_row_tokens += one.finished_row_tokens;
  sum.overlapped_ticks += one.overlapped_ticks;
  sum.dropped_row_tokens += one.dropped_row_tokens;
  for (std::size_t i = 0; i < sum.finished.size(); ++i) sum.finished[i] += one.finished[i];
}

BOOST_AUTO_TEST_CASE(every_policy_keeps_every_promise) {
  EngineStats sum;
  const auto add_all = [&](const WorldResult& result) { add(sum, result.stats); };
  const std::uint64_t count = run_worlds(WorldOptions::draw_policies, 4000, add_all);
  std::cout << count << " seeds with policies: " << sum.recompute_preemptions << " recomputed, "
            << sum.swap_preemptions << " swapped out, " << sum.pages_swapped_in
            << " pages swapped in, " << sum.prefix_hits << " tokens found, "
            << sum.prompt_padding_tokens << " tokens of padding, " << sum.finished_row_tokens
            << " of finished rows, " << sum.overlapped_ticks << " ticks planned ahead, "
            << sum.dropped_row_tokens << " tokens of them for nothing\n";
  if (count < 1000) return;
  BOOST_TEST(sum.recompute_preemptions > 1000U);
  BOOST_TEST(sum.swap_preemptions > 1000U);
  BOOST_TEST(sum.pages_swapped_in > 1000U);
  BOOST_TEST(sum.prefix_hits > 10000U);
  BOOST_TEST(sum.prompt_padding_tokens > 1000U);
  BOOST_TEST(sum.finished_row_tokens > 1000U);
  BOOST_TEST(sum.overlapped_ticks > 10000U);
  BOOST_TEST(sum.dropped_row_tokens > 300U);
  for (std::size_t i = 1; i < sum.finished.size(); ++i) {
    BOOST_TEST(sum.finished[i] > 10U, "ends of kind " << i);
  }
}

BOOST_AUTO_TEST_CASE(layer_groups_with_windows_keep_every_promise) {
  EngineStats sum;
  std::uint64_t num_released = 0;
  std::uint64_t copied_pages = 0;
  const auto add_all = [&](const WorldResult& result) {
    add(sum, result.stats);
    num_released += result.num_released;
    copied_pages += result.copied_pages;
  };
  const std::uint64_t count = run_worlds(WorldOptions::draw_windows, 2000, add_all);
  std::cout << count << " seeds with windows: " << num_released
            << " rows without their first pages, " << sum.recompute_preemptions << " recomputed, "
            << sum.swap_preemptions << " swapped out, " << sum.pages_swapped_in
            << " pages swapped in, " << sum.prefix_hits << " tokens found, " << copied_pages
            << " pages copied\n";
  if (count < 1000) return;
  BOOST_TEST(num_released > 10000U);
  BOOST_TEST(sum.recompute_preemptions > 500U);
  BOOST_TEST(sum.swap_preemptions > 500U);
  BOOST_TEST(sum.pages_swapped_in > 1000U);
  BOOST_TEST(sum.prefix_hits > 2000U);
  BOOST_TEST(copied_pages > 500U);
  for (std::size_t i = 1; i < sum.finished.size(); ++i) {
    BOOST_TEST(sum.finished[i] > 10U, "ends of kind " << i);
  }
}

BOOST_AUTO_TEST_CASE(a_seed_replays_to_the_same_digest) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    BOOST_TEST(run_world(seed).digest == run_world(seed).digest);
  }
}

BOOST_AUTO_TEST_CASE(every_seed_can_be_recorded_and_planned_again) {
  const auto file = std::filesystem::temp_directory_path() /
                    ("tickertape_sim_" + std::to_string(::getpid()) + ".rec");
  std::uint64_t num_plans = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    WorldOptions options =
        seed % 4 == 0 ? WorldOptions::draw_windows(seed) : WorldOptions::draw_policies(seed);
    options.record = file.string();
    BOOST_TEST(World(options).run().broken == "");
    const tickertape::ReplayReport report = tickertape::replay(file);
    BOOST_TEST(!report.difference, "seed " << seed);
    BOOST_TEST((report.end == tickertape::RecordingEnd::closed), "seed " << seed);
    num_plans += report.num_plans;
  }
  BOOST_TEST(num_plans > 10000U);
  std::filesystem::remove(file);
}

BOOST_AUTO_TEST_CASE(seeds_that_once_found_a_fault) {
  // 2: a tick both admitted and evicted; 4: an end told twice; 1331: a stop between a demand and
  // its plan left a request without an end.
  for (const std::uint64_t seed : {2U, 4U, 1331U}) {
    WorldOptions options = WorldOptions::draw(seed);
    options.choices = false;
    BOOST_TEST(World(options).run().broken == "");
  }
}

BOOST_AUTO_TEST_CASE(seeds_whose_policies_once_found_a_fault) {
  // 160: pages counted as freed that the urgent one wanted itself; 1170: a prompt shared by one
  // whose pages were just coming back; 5962: pages of a failed swap went into the prefix cache;
  // 105359: this world took a parked one that gave way for a reservation that did not hold.
  for (const std::uint64_t seed : {160U, 1170U, 5962U, 105359U}) {
    BOOST_TEST(World(WorldOptions::draw_policies(seed)).run().broken == "");
  }
  // A swap failed in a window, and the fake took the other group for wrong.
  BOOST_TEST(World(WorldOptions::draw_windows(17948)).run().broken == "");
}

BOOST_AUTO_TEST_CASE(all_compilers_agree_on_the_digest) {
  std::uint64_t digest = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    digest = digest * 1099511628211ULL ^ run_world(seed).digest;
    digest = digest * 1099511628211ULL ^ World(WorldOptions::draw_policies(seed)).run().digest;
  }
  BOOST_TEST(digest == 5591528747323470503U);
}

}  // namespace
