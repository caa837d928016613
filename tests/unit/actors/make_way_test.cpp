// Making way: who gives a place to a client that has fewer, and what a flood does to others.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <tickertape/simulated.hpp>
#include <tickertape/simulation.hpp>

#include "actors/order.hpp"
#include "tests/unit/actors/planning.hpp"

namespace {

using namespace tickertape;
using namespace tickertape::actors;
using namespace tickertape::test;

enum Client : std::uint64_t { kFlood = 7, kSteady = 8 };

NewRequest of(Client client, SequenceId id, std::uint32_t prompt, std::uint32_t generate) {
  NewRequest wanted = sequence(id, prompt, generate);
  wanted.client = client;
  return wanted;
}

PlannerOptions fair_options(std::uint32_t max_num_seqs) {
  PlannerOptions options = small_options();
  options.order = fair_order();
  options.max_num_seqs = max_num_seqs;
  return options;
}

std::vector<SequenceId> preempted_by(const Plan& plan) {
  std::vector<SequenceId> ids;
  for (const PlanPreempted& one : plan.preempted) ids.push_back(one.id);
  return ids;
}

using Ids = std::vector<SequenceId>;

/// Times to first token of one request a second, beside `num_flood` of another client at once.
std::vector<double> steady_ttfts_ms(Scheduling order, std::size_t num_flood,
                                    std::uint32_t max_num_seqs, std::uint32_t budget) {
  constexpr std::size_t kSteadyOnes = 30;
  constexpr std::int64_t kSecond = 1'000'000'000;
  EngineOptions options;
  options.num_kv_pages = 6000;
  options.max_num_seqs = max_num_seqs;
  options.max_num_batched_tokens = budget;
  options.request_timeout_s = 0;
  options.scheduling = order;
  const Workload workload = parse_workload("sharegpt-like");
  const auto drawn = workload.draw(100 + kSteadyOnes);
  SimulationLoad load;
  load.arrivals_ns.assign(num_flood, 0);
  for (std::size_t i = 0; i < kSteadyOnes; ++i) {
    load.arrivals_ns.push_back(kSecond / 2 + static_cast<std::int64_t>(i) * kSecond);
  }
  load.make_request = [&](std::size_t index) {
    const bool is_flood = index < num_flood;
    const WorkloadRequest& numbers = drawn[is_flood ? index : index - num_flood + 100];
    Request request = workload.make_request(numbers, 32000);
    request.client = is_flood ? "flood" : "steady";
    request.max_tokens = 2048;
    request.window = 2048;
    request.sampling.ignore_eos = false;
    request.sampling.seed = simulated_seed(numbers.output_tokens, numbers.index);
    return request;
  };
  const SimulationReport report = simulate(
      make_simulated_model({find_device("a100"), find_model_shape("llama-7b")}), options, load);
  std::vector<double> ttfts_ms;
  for (const RequestRecord& one : report.requests) {
    if (one.client != "steady") continue;
    ttfts_ms.push_back(static_cast<double>(one.first_token_ns - one.arrival_ns) / 1e6);
  }
  std::sort(ttfts_ms.begin(), ttfts_ms.end());
  return ttfts_ms;
}

double p95(const std::vector<double>& sorted) {
  return sorted.at(static_cast<std::size_t>(std::ceil(0.95 * static_cast<double>(sorted.size()))) -
                   1);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(make_way)

BOOST_AUTO_TEST_CASE(fewer_places_take_those_of_the_youngest) {
  Planner planner(fair_options(5));
  for (SequenceId id = 1; id <= 5; ++id) planner.add(of(kFlood, id, 10, 50), 0);
  tick(planner);
  BOOST_TEST(planner.num_running() == 5U);
  planner.add(of(kSteady, 11, 10, 50), 0);
  const Plan plan = tick(planner);
  BOOST_TEST(preempted_by(plan) == Ids{5});
  BOOST_TEST(row_of(plan, 11) != nullptr);
  // Now it is a prompt ahead: its next one has its turn when the flood has been served as much.
  planner.add(of(kSteady, 12, 10, 50), 0);
  Ids taken;
  for (int i = 0; i < 8 && taken.empty(); ++i) taken = preempted_by(tick(planner));
  BOOST_TEST(taken == Ids{4});
  planner.add(of(kSteady, 13, 10, 50), 0);
  for (int i = 0; i < 20; ++i) BOOST_TEST(preempted_by(tick(planner)).empty());
}

BOOST_AUTO_TEST_CASE(nobody_makes_way_for_its_own_client_or_under_another_order) {
  for (const bool is_fair : {true, false}) {
    PlannerOptions options = fair_options(4);
    if (!is_fair) options.order = fcfs_order();
    Planner planner(options);
    for (SequenceId id = 1; id <= 4; ++id) planner.add(of(kFlood, id, 10, 50), 0);
    tick(planner);
    planner.add(of(is_fair ? kFlood : kSteady, 11, 10, 50), 0);
    BOOST_TEST(preempted_by(tick(planner)).empty());
  }
}

BOOST_AUTO_TEST_CASE(pages_count_where_pages_are_short) {
  // 24 pages of 16: the flood takes 5 of 4 pages each and grows into no more.
  Planner planner(fair_options(8));
  for (SequenceId id = 1; id <= 5; ++id) planner.add(of(kFlood, id, 50, 14), 0);
  for (int i = 0; i < 5; ++i) tick(planner);
  BOOST_TEST(planner.num_running() == 5U);
  // 13 pages would be more than the flood keeps, however few of its sequences have them.
  planner.add(of(kSteady, 11, 200, 5), 0);
  BOOST_TEST(preempted_by(tick(planner)).empty());
  ReaderEvent gone;
  gone.id = 11;
  gone.cancelled = true;
  planner.apply(gone);
  tick(planner);
  // 8 pages: one of the flood's is enough, and leaves it 16.
  planner.add(of(kSteady, 12, 120, 5), 0);
  BOOST_TEST(preempted_by(tick(planner)) == Ids{5});
}

BOOST_AUTO_TEST_CASE(the_oldest_never_makes_way_and_nobody_does_without_bound) {
  PlannerOptions options = fair_options(2);
  options.max_class_preemptions = 3;
  Planner planner(options);
  planner.add(of(kFlood, 1, 10, 300), 0);
  planner.add(of(kFlood, 2, 10, 300), 0);
  tick(planner);
  std::size_t count = 0;
  for (SequenceId id = 11; id < 31; ++id) {
    planner.add(of(kSteady, id, 4, 2), 0);
    for (int i = 0; i < 5; ++i) {
      for (const SequenceId victim : preempted_by(tick(planner))) {
        BOOST_TEST(victim == 2U);
        ++count;
      }
    }
  }
  BOOST_TEST(count == 3U);
}

BOOST_AUTO_TEST_CASE(beside_a_flood_a_client_waits_about_as_on_half_an_engine) {
  for (const std::uint32_t slots : {12U, 16U, 64U}) {
    const double alone_ms = p95(steady_ttfts_ms(Scheduling::fair, 0, slots / 2, 256));
    const double fair_ms = p95(steady_ttfts_ms(Scheduling::fair, 100, slots, 512));
    const double fcfs_ms = p95(steady_ttfts_ms(Scheduling::fcfs, 100, slots, 512));
    BOOST_TEST_CONTEXT(slots << " slots: " << alone_ms << " ms alone, " << fair_ms << " fair, "
                             << fcfs_ms << " fcfs") {
      BOOST_TEST(fair_ms <= 1.5 * alone_ms);
      BOOST_TEST(fcfs_ms >= 10 * alone_ms);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
