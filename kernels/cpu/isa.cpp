// Choice of kernels at run time.
#include "kernels/cpu/isa.hpp"

#include <cstdlib>
#include <cstring>
#include <tickertape/assert.hpp>
#include <tickertape/errors.hpp>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace tickertape::kernels::cpu {
namespace {

CpuIsa parse(std::string_view name, std::string_view source) {
  CpuIsa isa = CpuIsa::reference;
  if (name == "scalar") {
    isa = CpuIsa::scalar;
  } else if (name == "avx2") {
    isa = CpuIsa::avx2;
  } else if (name != "reference") {
    throw Error(ErrorInfo{Errc::invalid_request,
                          std::string(source) + " \"" + std::string(name) +
                              "\" is not known; auto, reference, scalar and avx2 are",
                          "cpu_isa", 0});
  }
  if (!is_available(isa)) {
    throw Error(ErrorInfo{Errc::invalid_request,
                          std::string(source) + " \"" + std::string(name) +
                              "\" needs instructions that this processor does not have",
                          "cpu_isa", 0});
  }
  return isa;
}

}  // namespace

bool is_available(CpuIsa isa) noexcept {
  if (isa != CpuIsa::avx2) return true;
#if defined(__x86_64__)
  // Also asks whether the system saves the wide registers.
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("f16c");
#else
  return false;
#endif
}

CpuIsa choose_isa(std::string_view name) {
  if (name != "auto") return parse(name, "cpu_isa");
  const char* forced = std::getenv("TICKERTAPE_CPU_ISA");
  if (forced != nullptr && *forced != '\0' && std::string_view(forced) != "auto") {
    return parse(forced, "cpu_isa from TICKERTAPE_CPU_ISA");
  }
  return is_available(CpuIsa::avx2) ? CpuIsa::avx2 : CpuIsa::scalar;
}

const KernelTable& kernels_of(CpuIsa isa) noexcept {
  TICKERTAPE_ASSERT(is_available(isa));
  if (isa == CpuIsa::reference) return reference_kernels();
#if defined(__x86_64__)
  if (isa == CpuIsa::avx2) return avx2_kernels();
#endif
  return scalar_kernels();
}

std::string processor_name() {
  char name[49] = {};
#if defined(__x86_64__)
  for (unsigned i = 0; i < 3; ++i) {
    unsigned words[4] = {};
    if (__get_cpuid(0x80000002U + i, &words[0], &words[1], &words[2], &words[3]) == 0) return {};
    std::memcpy(name + 16 * i, words, sizeof words);
  }
#endif
  std::string text(name);
  const std::size_t first = text.find_first_not_of(' ');
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

}  // namespace tickertape::kernels::cpu
