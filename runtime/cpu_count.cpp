// cpu_count: affinity, hardware threads and control group quotas.
#include "runtime/cpu_count.hpp"

#include <sched.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>
#include <thread>

namespace tickertape::runtime {
namespace {

namespace fs = std::filesystem;

void tighten(std::optional<double>& limit, double quota, double period) {
  if (quota > 0 && period > 0) limit = std::min(limit.value_or(quota / period), quota / period);
}

/// v2: one file with "quota period", where the quota may be "max".
void read_v2(const fs::path& folder, std::optional<double>& limit) {
  std::ifstream file(folder / "cpu.max");
  double quota = 0;
  double period = 0;
  if (file >> quota >> period) tighten(limit, quota, period);
}

/// v1: one file each, and -1 for no quota.
void read_v1(const fs::path& folder, std::optional<double>& limit) {
  std::ifstream quota_file(folder / "cpu.cfs_quota_us");
  std::ifstream period_file(folder / "cpu.cfs_period_us");
  double quota = 0;
  double period = 0;
  if (quota_file >> quota && period_file >> period) tighten(limit, quota, period);
}

/// Applies `read` to the group and to all groups above it: each may set a limit.
template <class Read>
void walk_up(const fs::path& mount, std::string group, Read read, std::optional<double>& limit) {
  for (;;) {
    read(mount / fs::path(group).relative_path(), limit);
    if (group.empty()) return;
    group.resize(group.rfind('/') == std::string::npos ? 0 : group.rfind('/'));
  }
}

bool has_cpu(const std::string& controllers) {
  std::istringstream names(controllers);
  for (std::string name; std::getline(names, name, ',');) {
    if (name == "cpu") return true;
  }
  return false;
}

unsigned affinity_count() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  // Fails on a machine with more CPUs than the mask holds; then it sets no limit.
  if (sched_getaffinity(0, sizeof mask, &mask) != 0) return CPU_SETSIZE;
  return static_cast<unsigned>(CPU_COUNT(&mask));
}

}  // namespace

std::optional<double> cgroup_cpu_quota(const fs::path& mount, const std::string& self_cgroup) {
  std::optional<double> limit;
  std::istringstream lines(self_cgroup);
  // Each line is "hierarchy:controllers:group"; v2 is hierarchy 0 without controllers.
  for (std::string line; std::getline(lines, line);) {
    const auto first = line.find(':');
    const auto second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string group = line.substr(second + 1);
    if (controllers.empty()) {
      walk_up(mount, group, read_v2, limit);
    } else if (has_cpu(controllers)) {
      walk_up(mount / "cpu", group, read_v1, limit);
    }
  }
  return limit;
}

unsigned default_compute_threads() {
  unsigned count = affinity_count();
  const unsigned hardware = std::thread::hardware_concurrency();
  if (hardware > 0) count = std::min(count, hardware);
  std::ifstream file("/proc/self/cgroup");
  const std::string self_cgroup{std::istreambuf_iterator<char>(file), {}};
  if (const auto quota = cgroup_cpu_quota("/sys/fs/cgroup", self_cgroup)) {
    if (*quota < count) count = static_cast<unsigned>(*quota);
  }
  return std::max(count, 1u);
}

}  // namespace tickertape::runtime
