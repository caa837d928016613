// MemoryBudget: how much more memory the process may use, and what says so.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>

namespace tickertape::kernels::cpu {

struct MemoryBudget {
  std::uint64_t bytes = ~std::uint64_t{0};  ///< What more may be taken; the maximum = not known.
  std::string limit;  ///< For people: "of the machine's 24105 MiB", "of the control group's ...".
};

/// The least of what Linux calls available (MemAvailable) and of what the limits of the process's
/// control groups leave, of both versions and of all groups around its own; file contents that the
/// kernel can drop do not count as used. `root` stands for "/", so that tests can have their own.
/// What cannot be read sets no limit. Does not throw.
[[nodiscard]] MemoryBudget read_memory_budget(const std::filesystem::path& root = "/");

/// Bytes as people write them: "512 MiB", rounded up.
[[nodiscard]] std::string mebibytes(std::uint64_t bytes);

}  // namespace tickertape::kernels::cpu
