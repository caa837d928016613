// What a plan costs: the planner alone, with many running and many more waiting.
//
// usage: planner_cost [RUNNING [TICKS]]
//
// Every running sequence has a row in each tick; the figures are of the thread's CPU time.
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "actors/planner.hpp"

namespace tickertape::bench {
namespace {

double thread_cpu_us() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) / 1e3;
}

actors::NewRequest request(SequenceId id) {
  actors::NewRequest wanted;
  wanted.id = id;
  wanted.prompt_tokens = 100 + static_cast<std::uint32_t>(id % 200);
  wanted.max_tokens = wanted.prompt_tokens + 100'000;
  wanted.granted = 1'000'000;
  return wanted;
}

/// One tick: the plan's time, then a token for every row.
double tick(actors::Planner& planner, std::int64_t now_ns) {
  const double begin_us = thread_cpu_us();
  const actors::Plan plan = planner.make_plan(now_ns);
  const double spent_us = thread_cpu_us() - begin_us;
  actors::Demand demand;
  for (const actors::PlanRow& row : plan.rows) {
    actors::RowDone done;
    done.id = row.id;
    done.num_computed = row.num_tokens;
    done.num_emitted = row.output == RowOutput::sample ? 1 : 0;
    demand.done.push_back(done);
  }
  planner.commit(demand);
  return spent_us;
}

void measure(std::uint32_t num_running, std::uint32_t num_waiting, std::size_t num_ticks) {
  actors::PlannerOptions options;
  options.pool = KvPoolOptions{num_running * 400, 16};
  options.max_num_seqs = num_running;
  options.max_num_batched_tokens = std::max(2 * num_running, 512U);
  actors::Planner planner(options);
  for (SequenceId id = 1; id <= num_running; ++id) planner.add(request(id), 0);
  // Until all are beyond their prompts.
  for (std::int64_t now = 0; now < 1000; ++now) static_cast<void>(tick(planner, now));
  for (SequenceId id = num_running + 1; id <= num_running + num_waiting; ++id) {
    planner.add(request(id), 1000);
  }
  std::vector<double> spent_us;
  for (std::size_t i = 0; i < num_ticks; ++i) spent_us.push_back(tick(planner, 2000));
  std::sort(spent_us.begin(), spent_us.end());
  std::printf("%9u %9zu %12.1f %12.1f %12.1f\n", num_running, planner.num_waiting(),
              spent_us.front(), spent_us[num_ticks / 2], spent_us[num_ticks * 99 / 100]);
}

}  // namespace
}  // namespace tickertape::bench

int main(int argc, char** argv) {
  const auto num_running =
      static_cast<std::uint32_t>(argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 1000);
  const std::size_t num_ticks = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 1000;
  if (num_running == 0 || num_ticks == 0) {
    std::fputs("usage: planner_cost [RUNNING [TICKS]]\n", stderr);
    return 2;
  }
  std::printf("%9s %9s %12s %12s %12s\n", "running", "waiting", "best us", "median us", "p99 us");
  for (const std::uint32_t num_waiting : {0U, 100U, 1'000U, 10'000U, 100'000U}) {
    tickertape::bench::measure(num_running, num_waiting, num_ticks);
  }
  return 0;
}
