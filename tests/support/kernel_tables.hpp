// available_tables(): the kernels of every instruction set that this machine has.
#pragma once
#include <vector>

#include "kernels/cpu/isa.hpp"
#include "kernels/cpu/kernel_table.hpp"

namespace tickertape::test {

inline std::vector<const kernels::cpu::KernelTable*> available_tables() {
  using kernels::cpu::CpuIsa;
  std::vector<const kernels::cpu::KernelTable*> tables;
  for (const CpuIsa isa : {CpuIsa::reference, CpuIsa::scalar, CpuIsa::avx2}) {
    if (kernels::cpu::is_available(isa)) tables.push_back(&kernels::cpu::kernels_of(isa));
  }
  return tables;
}

}  // namespace tickertape::test
