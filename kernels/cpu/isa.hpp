// CpuIsa: which of the CPU's kernels are used.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "kernels/cpu/kernel_table.hpp"

namespace tickertape::kernels::cpu {

enum class CpuIsa : std::uint8_t { reference, scalar, avx2 };

/// "reference", "scalar", "avx2", or "auto": what TICKERTAPE_CPU_ISA says where it is set, else the
/// best this machine has. Throws Error(Errc::invalid_request) for others and for what is missing.
[[nodiscard]] CpuIsa choose_isa(std::string_view name);

[[nodiscard]] bool is_available(CpuIsa isa) noexcept;

/// REQUIRES: is_available(isa).
[[nodiscard]] const KernelTable& kernels_of(CpuIsa isa) noexcept;

/// The processor's name as it says it itself; empty when it says none.
[[nodiscard]] std::string processor_name();

}  // namespace tickertape::kernels::cpu
