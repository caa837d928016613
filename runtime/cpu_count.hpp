// default_compute_threads: how many threads may compute at the same time without waiting in line.
#pragma once
#include <filesystem>
#include <optional>
#include <string>

namespace tickertape::runtime {

/// The least of: hardware threads, the affinity mask of this process, and the CPU quota of its
/// control groups (v2 or v1), rounded down. At least 1.
[[nodiscard]] unsigned default_compute_threads();

/// The tightest CPU quota, in CPUs, on the way from a process's control group to the root; nothing
/// if there is none. `self_cgroup` is the text of /proc/<pid>/cgroup (cgroups(7)), `mount` where
/// the control groups are mounted. Files that are missing or unreadable set no limit.
[[nodiscard]] std::optional<double> cgroup_cpu_quota(const std::filesystem::path& mount,
                                                     const std::string& self_cgroup);

}  // namespace tickertape::runtime
