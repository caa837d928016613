# tickertape_script_test: tests written in Python.
find_package(Python3 3.9 REQUIRED COMPONENTS Interpreter)

# tickertape_script_test(<name> <script> [LABELS ...] [ARGS ...]): a Python test of the built programs.
function(tickertape_script_test name script)
  cmake_parse_arguments(ARG "" "" "LABELS;ARGS" ${ARGN})
  add_test(NAME ${name} COMMAND ${Python3_EXECUTABLE} -B ${script} ${ARG_ARGS})
  set(environment
    "PYTHONPATH=${PROJECT_SOURCE_DIR}/tests/e2e"
    "TICKERTAPE_BIN=${CMAKE_BINARY_DIR}/bin"
    "TICKERTAPE_MODEL=${PROJECT_SOURCE_DIR}/models/SmolLM2-135M-Instruct.Q4_1.gguf"
    "TICKERTAPE_TEST_DATA=${PROJECT_SOURCE_DIR}/tests/data")
  set_tests_properties(${name} PROPERTIES
    LABELS "${ARG_LABELS}" TIMEOUT 600 ENVIRONMENT "${environment}")
endfunction()
