# Trials of robustness: exceptions, cancellations, threads, stacks, shutdown, memory.
if(TICKERTAPE_BUILD_TOOLS)
  include(${PROJECT_SOURCE_DIR}/tests/e2e/script_test.cmake)
  foreach(trial f01 g11)
    tickertape_script_test(trial_${trial}_program ${CMAKE_CURRENT_LIST_DIR}/${trial}_program_test.py
                           LABELS trial e2e)
  endforeach()
  tickertape_script_test(trial_f01_program_long ${CMAKE_CURRENT_LIST_DIR}/f01_program_test.py
                         ARGS --long LABELS trial e2e long)
endif()
