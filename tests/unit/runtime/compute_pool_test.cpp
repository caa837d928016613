// ComputePool and the count of compute threads.
#include "runtime/compute_pool.hpp"

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace tickertape::runtime::test {
namespace {

/// One run in which every member adds to its own cell, and after each barrier checks all cells.
bool lockstep(ComputePool& pool, unsigned limit, int num_phases) {
  std::vector<int> cells(pool.num_members(), 0);
  std::vector<int> sums(pool.num_members(), 0);
  unsigned num_seen = 0;
  auto job = [&](unsigned member, unsigned num_members) {
    if (member == 0) num_seen = num_members;
    for (int phase = 1; phase <= num_phases; ++phase) {
      ++cells[member];
      pool.barrier();
      for (unsigned i = 0; i < num_members; ++i) sums[member] += cells[i];
      pool.barrier();
    }
  };
  pool.run(limit, job);
  const int expected = static_cast<int>(num_seen) * num_phases * (num_phases + 1) / 2;
  bool same = num_seen == std::min(limit, pool.num_members());
  for (unsigned i = 0; i < num_seen; ++i) same &= sums[i] == expected;
  for (unsigned i = num_seen; i < pool.num_members(); ++i) same &= cells[i] == 0;
  return same;
}

struct Folder {
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "tickertape-XXXXXX").string();
    path = mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path); }
  void write(const std::string& file, const std::string& text) const {
    std::filesystem::create_directories((path / file).parent_path());
    std::ofstream(path / file) << text;
  }
  std::filesystem::path path;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(compute_pool)

BOOST_AUTO_TEST_CASE(all_members_run_and_meet_at_the_barrier) {
  for (const unsigned num_members : {1u, 2u, 4u}) {
    ComputePool pool(num_members, 10);
    BOOST_TEST(pool.num_members() == num_members);
    for (const unsigned limit : {1u, 2u, 3u, 100u}) BOOST_TEST(lockstep(pool, limit, 50));
  }
}

BOOST_AUTO_TEST_CASE(many_short_runs) {
  ComputePool pool(2, 0);
  std::atomic<int> total{0};
  auto job = [&total](unsigned, unsigned) { total.fetch_add(1, std::memory_order_relaxed); };
  for (int i = 0; i < 20'000; ++i) pool.run(2, job);
  BOOST_TEST(total == 40'000);
}

BOOST_AUTO_TEST_CASE(callers_from_several_threads_take_turns) {
  for (const unsigned num_members : {1u, 2u, 4u}) {
    ComputePool pool(num_members, 0);
    std::atomic<int> num_inside{0};
    std::atomic<int> num_bad{0};
    std::vector<std::thread> callers;
    for (int caller = 0; caller < 3; ++caller) {
      callers.emplace_back([&] {
        auto job = [&](unsigned member, unsigned) {
          if (member == 0 && ++num_inside != 1) ++num_bad;
          pool.barrier();
          if (member == 0) --num_inside;
        };
        for (int i = 0; i < 200; ++i) pool.run(num_members, job);
        if (!lockstep(pool, num_members, 20)) ++num_bad;
      });
    }
    for (std::thread& caller : callers) caller.join();
    BOOST_TEST(num_bad == 0);
  }
}

BOOST_AUTO_TEST_CASE(a_pool_that_never_ran_and_one_that_ran_both_end) {
  {
    const ComputePool pool(4, 0);
  }
  ComputePool pool(4, 0);
  BOOST_TEST(lockstep(pool, 2, 1));
}

BOOST_AUTO_TEST_CASE(the_process_shares_one_pool_and_makes_a_larger_one_when_asked) {
  auto first = process_compute_pool(2, 10);
  BOOST_TEST(process_compute_pool(1, 0) == first);
  const auto larger = process_compute_pool(3, 10);
  BOOST_TEST(larger != first);
  BOOST_TEST(first->num_members() == 2u);
  BOOST_TEST(process_compute_pool(2, 10) == larger);
  BOOST_TEST(lockstep(*first, 2, 3));
  BOOST_TEST(lockstep(*larger, 3, 3));
}

BOOST_AUTO_TEST_CASE(there_is_at_least_one_compute_thread_and_no_more_than_hardware_threads) {
  const unsigned count = default_compute_threads();
  BOOST_TEST(count >= 1u);
  if (std::thread::hardware_concurrency() != 0) {
    BOOST_TEST(count <= std::thread::hardware_concurrency());
  }
}

BOOST_AUTO_TEST_CASE(the_tightest_quota_on_the_way_to_the_root_counts) {
  const Folder folder;
  folder.write("a/cpu.max", "150000 100000\n");
  folder.write("a/b/cpu.max", "max 100000\n");
  folder.write("a/b/c/cpu.max", "300000 100000\n");
  BOOST_TEST(*cgroup_cpu_quota(folder.path, "0::/a/b/c\n") == 1.5);
  BOOST_TEST(!cgroup_cpu_quota(folder.path, "0::/other\n"));
  BOOST_TEST(!cgroup_cpu_quota(folder.path, "0::/\n"));
  BOOST_TEST(!cgroup_cpu_quota(folder.path, "nonsense\n0:\n"));
  BOOST_TEST(!cgroup_cpu_quota(folder.path, ""));
  folder.write("cpu.max", "50000 100000\n");
  BOOST_TEST(*cgroup_cpu_quota(folder.path, "0::/a/b/c") == 0.5);
}

BOOST_AUTO_TEST_CASE(version_1_groups_are_read_too) {
  const Folder folder;
  folder.write("cpu/a/cpu.cfs_quota_us", "250000\n");
  folder.write("cpu/a/cpu.cfs_period_us", "100000\n");
  folder.write("cpu/a/b/cpu.cfs_quota_us", "-1\n");
  folder.write("cpu/a/b/cpu.cfs_period_us", "100000\n");
  const std::string groups = "12:memory:/a/b\n3:cpu,cpuacct:/a/b\n2:cpuset:/\n0::/\n";
  BOOST_TEST(*cgroup_cpu_quota(folder.path, groups) == 2.5);
  BOOST_TEST(!cgroup_cpu_quota(folder.path, "2:cpuset:/a\n4:cpuacct:/a\n"));
}

BOOST_AUTO_TEST_CASE(a_thread_can_lower_its_own_priority) {
  bool lowered = false;
  std::thread([&lowered] { lowered = set_thread_nice(19); }).join();
  BOOST_TEST(lowered);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace tickertape::runtime::test
