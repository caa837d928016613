// is_long_form(): whether the program was called with "--long" behind "--", for a trial's long
// form.
#pragma once
#include <boost/test/unit_test.hpp>
#include <string_view>

namespace tickertape::test {

inline bool is_long_form() {
  const auto& suite = boost::unit_test::framework::master_test_suite();
  for (int i = 1; i < suite.argc; ++i) {
    if (std::string_view(suite.argv[i]) == "--long") return true;
  }
  return false;
}

}  // namespace tickertape::test
