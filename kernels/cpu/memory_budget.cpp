// Reading of /proc/meminfo and of the control groups' files.
#include "kernels/cpu/memory_budget.hpp"

#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>

namespace tickertape::kernels::cpu {
namespace {

using std::filesystem::path;

/// The number of the first line that begins with `name`, a word of its own.
std::optional<std::uint64_t> find_number(const path& file, std::string_view name) {
  std::ifstream in(file);
  std::string line;
  while (std::getline(in, line)) {
    std::istringstream words(line);
    std::string word;
    std::uint64_t number = 0;
    if (words >> word >> number && word == name) return number;
  }
  return std::nullopt;
}

/// The number that a file consists of; "max" is none.
std::optional<std::uint64_t> read_number(const path& file) {
  std::ifstream in(file);
  std::uint64_t number = 0;
  if (!(in >> number)) return std::nullopt;
  return number;
}

/// Where one version of control groups keeps its numbers.
struct GroupFiles {
  const char* limit;
  const char* used;
  const char* inactive;  ///< In memory.stat: contents of files that can be dropped.
  const char* active;
};
constexpr GroupFiles kVersion2 = {"memory.max", "memory.current", "inactive_file", "active_file"};
constexpr GroupFiles kVersion1 = {"memory.limit_in_bytes", "memory.usage_in_bytes",
                                  "total_inactive_file", "total_active_file"};

void narrow(MemoryBudget& budget, std::uint64_t bytes, const std::string& limit) {
  if (bytes < budget.bytes) budget = {bytes, limit};
}

void add_group(MemoryBudget& budget, const path& folder, const GroupFiles& files) {
  const auto limit = read_number(folder / files.limit);
  const auto used = read_number(folder / files.used);
  if (!limit || !used) return;
  const path stat = folder / "memory.stat";
  const std::uint64_t droppable =
      find_number(stat, files.inactive).value_or(0) + find_number(stat, files.active).value_or(0);
  const std::uint64_t held = *used - std::min(*used, droppable);
  narrow(budget, *limit - std::min(*limit, held),
         "of the control group's " + mebibytes(*limit) + ", " + mebibytes(held) + " are in use");
}

/// The group and all around it, below where the file system of groups is mounted. Inside a
/// container the path may be the host's, which is not there: then the mount's root is the
/// container's group.
void add_groups(MemoryBudget& budget, const path& mount, const path& group,
                const GroupFiles& files) {
  path folder = group.relative_path();
  while (!folder.empty()) {
    add_group(budget, mount / folder, files);
    folder = folder.parent_path();
  }
  add_group(budget, mount, files);
}

bool names_memory(std::string_view controllers) {
  while (!controllers.empty()) {
    const std::size_t comma = std::min(controllers.find(','), controllers.size());
    if (controllers.substr(0, comma) == "memory") return true;
    controllers.remove_prefix(std::min(comma + 1, controllers.size()));
  }
  return false;
}

}  // namespace

MemoryBudget read_memory_budget(const path& root) {
  constexpr std::uint64_t kKib = 1024;
  MemoryBudget budget;
  const path meminfo = root / "proc/meminfo";
  if (const auto available = find_number(meminfo, "MemAvailable:")) {
    const std::uint64_t total = find_number(meminfo, "MemTotal:").value_or(*available);
    narrow(budget, *available * kKib,
           "of the machine's " + mebibytes(total * kKib) + ", " +
               mebibytes((total - std::min(total, *available)) * kKib) + " are in use");
  }
  // Lines "number:controllers:path"; version 2 has no controllers.
  std::ifstream groups(root / "proc/self/cgroup");
  std::string line;
  while (std::getline(groups, line)) {
    const std::size_t first = line.find(':');
    if (first == std::string::npos) continue;
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const path group = line.substr(second + 1);
    if (controllers.empty()) {
      add_groups(budget, root / "sys/fs/cgroup", group, kVersion2);
      add_groups(budget, root / "sys/fs/cgroup/unified", group, kVersion2);
    } else if (names_memory(controllers)) {
      add_groups(budget, root / "sys/fs/cgroup/memory", group, kVersion1);
    }
  }
  return budget;
}

std::string mebibytes(std::uint64_t bytes) {
  constexpr std::uint64_t kMib = 1U << 20;
  return std::to_string(bytes / kMib + (bytes % kMib == 0 ? 0 : 1)) + " MiB";
}

}  // namespace tickertape::kernels::cpu
