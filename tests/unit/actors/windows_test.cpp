// Layer groups with windows: what is kept for them, given back, found, forked and swapped.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <deque>
#include <random>
#include <set>
#include <vector>

#include <tickertape/errors.hpp>

#include "actors/engine_settings.hpp"
#include "actors/order.hpp"
#include "tests/unit/actors/planning.hpp"

namespace {

using namespace tickertape;
using namespace tickertape::actors;
using namespace tickertape::test;

/// Beside the first group one that shows `window` tokens and has so many pages.
PlannerOptions with_window(std::uint32_t window, std::uint32_t num_pages) {
  PlannerOptions options = small_options();
  options.windows = {LayerGroup{1, window, 0, num_pages}};
  return options;
}

NewRequest named(SequenceId id, std::uint32_t prompt, std::uint32_t generate,
                 std::vector<PageName> names) {
  NewRequest wanted = sequence(id, prompt, generate);
  wanted.names = std::move(names);
  return wanted;
}

std::size_t num_released(const Planner& planner, SequenceId id) {
  const auto table = planner.windows().pool(0).pages(id);
  return static_cast<std::size_t>(std::count(table.begin(), table.end(), kNoPage));
}

BOOST_AUTO_TEST_CASE(pages_before_the_window_are_given_back_while_it_runs) {
  Planner planner(with_window(20, 8));
  planner.add(sequence(1, 40, 100), 0);
  while (planner.num_running() + planner.num_waiting() > 0) {
    tick(planner);
    const PlannedSequence* one = planner.find(1);
    if (one == nullptr) break;
    // The token that would be computed again by a sibling, and the 19 before it.
    const std::uint32_t kept_from = one->view.num_computed - 20;
    BOOST_TEST(num_released(planner, 1) == kept_from / 16);
    BOOST_TEST(planner.windows().pool(0).num_held() ==
               (one->view.num_computed - 1) / 16 + 1 - kept_from / 16);
    BOOST_TEST(planner.pool().num_held() == one->view.pages);
    EngineStats stats;
    planner.fill(stats);
    BOOST_TEST(stats.pages_held == one->view.pages + planner.windows().pool(0).num_held());
    BOOST_TEST(stats.held_tokens ==
               one->view.num_computed + (one->view.num_computed - kept_from / 16 * 16));
  }
  BOOST_TEST(planner.windows().pool(0).num_free() == 8U);
}

BOOST_AUTO_TEST_CASE(tables_of_rows_tell_what_was_given_back) {
  Planner planner(with_window(16, 8));
  planner.add(sequence(1, 64, 4), 0);
  planner.add(sequence(2, 8, 4), 0);
  tick(planner);
  const Plan plan = tick(planner);
  BOOST_TEST_REQUIRE(plan.windows.size() == 1U);
  const PageTables& tables = plan.windows[0].tables;
  BOOST_TEST_REQUIRE(tables.offsets.size() == plan.rows.size() + 1);
  for (std::size_t i = 0; i < plan.rows.size(); ++i) {
    const std::span<const PageId> table =
        std::span(tables.pages)
            .subspan(tables.offsets[i], tables.offsets[i + 1] - tables.offsets[i]);
    const std::size_t released = plan.rows[i].id == 1 ? 3 : 0;
    BOOST_TEST(std::count(table.begin(), table.end(), kNoPage) == released);
    BOOST_TEST(table.size() == (plan.rows[i].id == 1 ? 5U : 1U));
  }
}

BOOST_AUTO_TEST_CASE(a_long_prompt_needs_the_window_and_a_chunk_and_others_wait_for_that) {
  // Chunks of 64 tokens and a window of 32: 7 pages while the prompt is read, 3 or 4 later.
  Planner planner(with_window(32, 10));
  planner.add(sequence(1, 200, 20), 0);
  planner.add(sequence(2, 100, 20), 0);
  BOOST_TEST(tick(planner).opened.size() == 1U);
  BOOST_TEST(tick(planner).opened.empty());
  BOOST_TEST(tick(planner).opened.empty());
  BOOST_TEST(tick(planner).opened.empty());  // 200 tokens are computed,
  const Plan plan = tick(planner);           // and there is room.
  BOOST_TEST_REQUIRE(plan.opened.size() == 1U);
  BOOST_TEST(plan.opened[0].id == 2U);
  while (planner.num_running() + planner.num_waiting() > 0) {
    BOOST_TEST(tick(planner).preempted.empty());
  }
}

BOOST_AUTO_TEST_CASE(a_higher_class_preempts_for_room_in_a_window) {
  PlannerOptions options = with_window(32, 7);
  options.order = priority_order(1'000'000);
  Planner planner(options);
  NewRequest patient = sequence(1, 100, 20);
  patient.priority = 1;
  planner.add(patient, 0);
  tick(planner);
  planner.add(sequence(2, 100, 20), 0);
  const Plan plan = tick(planner);
  BOOST_TEST_REQUIRE(plan.preempted.size() == 1U);
  BOOST_TEST(plan.opened.at(0).id == 2U);
}

/// The most pages that a long sequence held at once, alone.
std::uint32_t most_held(std::uint32_t page_size, std::uint32_t window, std::uint32_t chunk,
                        std::uint32_t num_plans) {
  PlannerOptions options;
  options.pool = KvPoolOptions{400, page_size};
  options.windows = {LayerGroup{1, window, 0, 400}};
  options.max_num_seqs = 1;
  options.max_num_batched_tokens = chunk;
  options.overlap = num_plans > 1;
  options.prefix_caching = false;
  Planner planner(options);
  std::uint32_t most = 0;
  planner.add(sequence(1, 150, 50), 0);
  std::deque<Plan> plans;
  while (planner.num_running() + planner.num_waiting() > 0) {
    while (plans.size() < num_plans) {
      Plan plan = planner.make_plan(0);
      planner.check();
      if (!plan.has_work()) break;
      plans.push_back(std::move(plan));
      most = std::max(most, planner.windows().pool(0).num_held());
    }
    planner.commit(run(planner, plans.front()));
    planner.check();
    plans.pop_front();
  }
  return most;
}

BOOST_AUTO_TEST_CASE(room_is_kept_for_what_is_held_at_most_and_no_more) {
  for (const std::uint32_t page_size : {1U, 2U, 8U}) {
    for (const std::uint32_t window : {1U, 2U, 5U, 8U, 17U}) {
      for (const std::uint32_t chunk : {1U, 3U, 8U, 13U}) {
        for (const std::uint32_t num_plans : {1U, 2U}) {
          PlannerOptions options;
          options.pool.page_size = page_size;
          options.windows = {LayerGroup{1, window, 0, 400}};
          options.max_num_batched_tokens = chunk;
          options.overlap = num_plans > 1;
          SequenceView view;
          view.num_tokens = 150;
          view.max_tokens = 200;
          const std::uint32_t room = KvWindows(options).most_pages(0, view);
          const std::uint32_t held = most_held(page_size, window, chunk, num_plans);
          // Where chunks begin decides whether the worst case comes to pass.
          BOOST_TEST(held <= room);
          BOOST_TEST(held + 1 >= room, "pages of " << page_size << ", window " << window
                                                   << ", chunks of " << chunk << ", " << num_plans
                                                   << " plans: " << held << " of " << room);
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(what_a_plan_under_way_sees_is_not_given_back) {
  PlannerOptions options = with_window(16, 24);
  options.overlap = true;
  Planner planner(options);
  planner.add(sequence(1, 160, 20), 0);
  const Plan first = planner.make_plan(0);
  const Plan second = planner.make_plan(0);
  BOOST_TEST(row_of(second, 1)->first_position == 64U);
  planner.commit(run(planner, first));
  planner.check();
  // Its first token sees 49 to 64; what lies before 48 is gone.
  BOOST_TEST(num_released(planner, 1) == 3U);
}

BOOST_AUTO_TEST_CASE(a_prefix_is_as_long_as_every_group_has_it) {
  Planner planner(with_window(16, 7));
  planner.add(named(1, 81, 1, {101, 102, 103, 104, 105}), 0);
  while (planner.num_running() + planner.num_waiting() > 0) tick(planner);
  BOOST_TEST(planner.windows().pool(0).num_cached() == 5U);
  // The last one is enough for its window.
  planner.add(named(2, 81, 1, {101, 102, 103, 104, 105}), 0);
  BOOST_TEST(tick(planner).opened.at(0).cached_tokens == 80U);
  while (planner.num_running() + planner.num_waiting() > 0) tick(planner);
  // Takes the pages of the window that were held longest ago, the first one's first.
  planner.add(named(3, 96, 1, {201, 202, 203, 204, 205}), 0);
  while (planner.num_running() + planner.num_waiting() > 0) tick(planner);
  BOOST_TEST(!planner.windows().pool(0).has(101));
  BOOST_TEST(!planner.windows().pool(0).has(102));
  const KvPool::Match match = planner.pool().match(std::vector<PageName>{101, 102, 103, 104, 105});
  BOOST_TEST(match.num_pages == 5U);
  std::uint32_t found = 0;  // Pages up to the last one that is there.
  for (const PageName name : {101U, 102U, 103U, 104U, 105U}) {
    if (planner.windows().pool(0).has(name)) found = name - 100;
  }
  planner.add(named(4, 81, 1, {101, 102, 103, 104, 105}), 0);
  BOOST_TEST(tick(planner).opened.at(0).cached_tokens == found * 16);
}

BOOST_AUTO_TEST_CASE(the_longest_prefix_agrees_with_a_plain_search) {
  std::mt19937 dice(7);
  PlannerOptions options;
  options.pool = KvPoolOptions{64, 4};
  options.windows = {LayerGroup{1, 6, 0, 64}, LayerGroup{1, 11, 0, 64}};
  constexpr std::uint32_t kNumNames = 12;
  for (int round = 0; round < 2000; ++round) {
    KvWindows windows(options);
    std::vector<std::set<PageName>> there(2);
    // An owner that has given back its first pages names the others, and some of all.
    for (SequenceId owner = 1; owner <= 3; ++owner) {
      windows.grow(owner, kNumNames * 4);
      windows.release_behind(owner, 1 + dice() % (kNumNames * 4));
      for (std::uint32_t i = 0; i < kNumNames; ++i) {
        if (dice() % 2 == 0) windows.name(owner, i, 100 + i);
      }
    }
    std::vector<PageName> names;
    for (std::uint32_t i = 0; i < kNumNames; ++i) names.push_back(100 + i);
    const auto seen = [&](std::size_t group, std::uint32_t count) {
      const std::uint32_t window = options.windows[group].window;
      for (std::uint32_t i = 0; i < count; ++i) {
        const bool is_seen = (i + 1) * 4 > count * 4 + 1 - std::min(window, count * 4 + 1);
        if (is_seen && !windows.pool(group).has(names[i])) return false;
      }
      return true;
    };
    std::uint32_t expected = kNumNames;
    while (!seen(0, expected) || !seen(1, expected)) --expected;
    BOOST_TEST_REQUIRE(windows.num_found(names) == expected);
    windows.attach(9, std::span(names).first(expected));
    for (std::size_t group = 0; group < 2; ++group) windows.pool(group).check();
  }
}

BOOST_AUTO_TEST_CASE(a_choice_forks_the_prompt_in_every_group) {
  Planner planner(with_window(16, 12));
  NewRequest wanted = sequence(10, 40, 8);
  wanted.num_choices = 3;
  planner.add(wanted, 0);
  tick(planner);
  const Plan second = tick(planner);
  BOOST_TEST_REQUIRE(second.opened.size() == 2U);
  BOOST_TEST(second.copies.size() == 2U);
  BOOST_TEST_REQUIRE(second.windows[0].copies.size() == 2U);
  // Token 39 sees 24 to 39: a page that is shared, and one that is copied.
  const auto shared = planner.windows().pool(0).pages(10);
  BOOST_TEST(planner.windows().pool(0).pages(11)[0] == kNoPage);
  BOOST_TEST(planner.windows().pool(0).pages(11)[1] == shared[1]);
  BOOST_TEST(second.windows[0].copies[0].from == shared[2]);
  EngineStats stats;
  planner.fill(stats);
  const std::uint64_t own = 9 + 8 + 8;  // Behind the full pages.
  BOOST_TEST(stats.held_tokens == (32 + own) + (16 + own));
}

BOOST_AUTO_TEST_CASE(nobody_waits_for_a_sibling_whose_window_has_moved_on) {
  PlannerOptions options = with_window(16, 24);
  options.prefix_caching = false;
  options.max_num_seqs = 2;
  Planner planner(options);
  planner.add(sequence(1, 20, 40), 0);
  NewRequest wanted = sequence(10, 40, 60);
  wanted.num_choices = 2;
  planner.add(wanted, 0);
  for (int i = 0; i < 39; ++i) tick(planner);
  BOOST_TEST_REQUIRE(planner.find(1) != nullptr);  // Until now it had the other slot.
  tick(planner);
  const Plan plan = tick(planner);
  BOOST_TEST_REQUIRE(plan.opened.size() == 1U);
  BOOST_TEST(plan.opened[0].id == 11U);
  BOOST_TEST(row_of(plan, 11)->first_position == 0U);
  BOOST_TEST(row_of(plan, 11)->num_tokens == 40U);
}

BOOST_AUTO_TEST_CASE(a_victim_takes_what_its_window_shows_to_the_host_and_back) {
  PlannerOptions options = with_window(16, 12);
  options.pool.num_pages = 8;
  options.num_host_pages = 8;
  options.preemption_method = PreemptionMethod::swap;
  Planner planner(options);
  planner.add(sequence(1, 60, 60), 0);
  planner.add(sequence(2, 50, 40), 0);
  bool went = false;
  bool came = false;
  std::vector<PageCopy> out;
  for (int i = 0; i < 200 && planner.num_running() + planner.num_waiting() > 0; ++i) {
    const Plan plan = tick(planner);
    if (!plan.preempted.empty()) {
      out = plan.windows[0].swap_out;
      BOOST_TEST(plan.preempted[0].swapped_pages == plan.swap_out.size() + out.size());
      BOOST_TEST((out.size() == 1 || out.size() == 2));
      BOOST_TEST(plan.swap_out.size() == 4U);
      BOOST_TEST(planner.windows().host_pool(0).num_free() == 8U - out.size());
      went = true;
    }
    if (went && !plan.opened.empty()) {
      const std::vector<PageCopy>& in = plan.windows[0].swap_in;
      BOOST_TEST_REQUIRE(in.size() == out.size());
      for (std::size_t k = 0; k < in.size(); ++k) BOOST_TEST(in[k].from == out[k].to);
      came = true;
    }
  }
  BOOST_TEST(came);
  BOOST_TEST(planner.counters().recomputed_tokens == 0U);
  BOOST_TEST(planner.counters().pages_swapped_in == planner.counters().pages_swapped_out);
  BOOST_TEST(planner.windows().host_pool(0).num_free() == 8U);
}

struct Settings {
  Settings() {
    backend.name = "some";
    backend.page_size = 16;
    backend.num_pages = 1000;
    backend.groups = {LayerGroup{1, 0, 1, 0}, LayerGroup{5, 512, 5, 100}};
    model.max_model_len = 8192;
    options = resolve(options);
  }
  std::uint32_t longest() { return resolve_max_model_len(options, model, backend); }
  EngineOptions options;
  ModelInfo model;
  BackendInfo backend;
};

BOOST_FIXTURE_TEST_CASE(the_context_is_what_all_groups_can_hold, Settings) {
  BOOST_TEST(longest() == 8192U);  // A window of 512 and a chunk of 512: 65 pages.
  backend.groups[1].num_pages = 60;
  BOOST_TEST(longest() == 60U * 16);
  options.prefill_chunk = 256;
  BOOST_TEST(longest() == 8192U);
  backend.groups[1].num_pages = 0;  // As many as the first.
  options.batching = Batching::iteration;
  BOOST_TEST(longest() == 8192U);
  backend.groups[1].num_pages = 100;  // Whole prompts.
  BOOST_TEST(longest() == 1600U);
  options.max_model_len = 1601;
  BOOST_CHECK_THROW(static_cast<void>(longest()), Error);
}

BOOST_FIXTURE_TEST_CASE(groups_in_another_shape_are_refused, Settings) {
  const auto refuses = [&](std::vector<LayerGroup> groups) {
    backend.groups = std::move(groups);
    BOOST_CHECK_THROW(static_cast<void>(longest()), Error);
  };
  refuses({LayerGroup{1, 512, 1, 0}});
  refuses({LayerGroup{1, 0, 1, 0}, LayerGroup{1, 0, 1, 0}});
  backend.groups.clear();
  BOOST_TEST(longest() == 8192U);
}

}  // namespace
