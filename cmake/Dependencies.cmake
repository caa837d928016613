# Every third-party package, in one place. docs/dependencies.md gives the reason for each.
find_package(Threads REQUIRED)
find_package(Boost 1.81 REQUIRED)

# Boost headers as the whole project compiles them. Asio and Beast stay header-only.
add_library(tickertape_boost INTERFACE)
target_link_libraries(tickertape_boost INTERFACE Boost::headers Threads::Threads)

find_package(PkgConfig REQUIRED)
pkg_check_modules(PCRE2 REQUIRED IMPORTED_TARGET libpcre2-8)
find_package(simdjson REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(fmt REQUIRED)
if(TICKERTAPE_BUILD_TOOLS)
  find_package(CLI11 REQUIRED)
endif()
if(TICKERTAPE_BUILD_TESTS)
  find_package(Boost 1.81 REQUIRED COMPONENTS unit_test_framework)
endif()
