# Language, warnings and the two helpers that every folder uses to declare a library or a test.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug, Release, RelWithDebInfo" FORCE)
endif()

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Paths relative to the top, so that a second clone finds what the first one compiled.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}
      CCACHE_NOHASHDIR=1 ${CCACHE_PROGRAM})
endif()

set(TICKERTAPE_SANITIZE "" CACHE STRING "Comma separated sanitizers, e.g. address,undefined or thread")
option(TICKERTAPE_WERROR "Treat warnings as errors" OFF)

add_library(tickertape_options INTERFACE)
target_compile_features(tickertape_options INTERFACE cxx_std_20)
target_compile_options(tickertape_options INTERFACE
  -Wall -Wextra -Wpedantic $<$<BOOL:${TICKERTAPE_WERROR}>:-Werror>
  $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety -Wno-gnu-zero-variadic-macro-arguments>)
if(TICKERTAPE_SANITIZE)
  add_compile_options(-fsanitize=${TICKERTAPE_SANITIZE} -fno-omit-frame-pointer
                      -fno-sanitize-recover=all -g1)
  add_link_options(-fsanitize=${TICKERTAPE_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    add_compile_options(-fno-sanitize=function)
  endif()
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  find_program(TICKERTAPE_LLD NAMES ld.lld-19 ld.lld)
  if(TICKERTAPE_LLD)
    add_link_options(-fuse-ld=lld)
  endif()
endif()

# tickertape_library(<name> SOURCES ... [PUBLIC libs...] [PRIVATE libs...])
# A static library of one folder; its public include root is include/, its private one the top level.
function(tickertape_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PUBLIC tickertape_headers ${ARG_PUBLIC}
                        PRIVATE $<BUILD_INTERFACE:tickertape_options> ${ARG_PRIVATE})
endfunction()

# tickertape_test(<name> SOURCES ... [LIBS ...] [LABELS ...] [ARGS ...] [TIMEOUT seconds])
# A Boost.Test program and its ctest entry. Sources share one main (tests/main.cpp).
function(tickertape_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;LIBS;LABELS;ARGS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_definitions(${name} PRIVATE
    TICKERTAPE_TEST_DATA="${PROJECT_SOURCE_DIR}/tests/data"
    TICKERTAPE_MODELS="${PROJECT_SOURCE_DIR}/models"
    TICKERTAPE_BIN="${CMAKE_BINARY_DIR}/bin")
  target_link_libraries(${name} PRIVATE tickertape_options tickertape_test_main ${ARG_LIBS})
  # What a test measures is in the libraries; its own code only has to be built quickly.
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  add_test(NAME ${name} COMMAND ${name} ${ARG_ARGS})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT ${ARG_TIMEOUT})
endfunction()
