// Choice of kernels by name.
#include "kernels/cpu/isa.hpp"

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <string>

#include <tickertape/errors.hpp>

namespace {

using namespace tickertape;
using namespace tickertape::kernels::cpu;

BOOST_AUTO_TEST_SUITE(isa)

BOOST_AUTO_TEST_CASE(names_choose_kernels) {
  BOOST_TEST((choose_isa("reference") == CpuIsa::reference));
  BOOST_TEST((choose_isa("scalar") == CpuIsa::scalar));
  BOOST_TEST(std::string(kernels_of(choose_isa("scalar")).name) == "scalar");
  BOOST_TEST(std::string(kernels_of(choose_isa("reference")).name) == "reference");
}

BOOST_AUTO_TEST_CASE(unknown_names_are_refused_with_the_option_and_the_name) {
  for (const char* name : {"", "AVX2", "avx1024", "auto "}) {
    BOOST_CHECK_EXCEPTION(static_cast<void>(choose_isa(name)), Error, [&](const Error& error) {
      return error.info().code == Errc::invalid_request && error.info().param == "cpu_isa" &&
             std::string(error.what()).find("cpu_isa \"" + std::string(name)) == 0;
    });
  }
}

BOOST_AUTO_TEST_CASE(the_environment_forces_auto_only) {
  ::setenv("TICKERTAPE_CPU_ISA", "reference", 1);
  BOOST_TEST((choose_isa("auto") == CpuIsa::reference));
  BOOST_TEST((choose_isa("scalar") == CpuIsa::scalar));
  ::setenv("TICKERTAPE_CPU_ISA", "nonsense", 1);
  BOOST_CHECK_THROW(static_cast<void>(choose_isa("auto")), Error);
  ::unsetenv("TICKERTAPE_CPU_ISA");
  const CpuIsa best = is_available(CpuIsa::avx2) ? CpuIsa::avx2 : CpuIsa::scalar;
  BOOST_TEST((choose_isa("auto") == best));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
