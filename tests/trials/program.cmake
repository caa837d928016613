# Trials through the program itself.
if(TICKERTAPE_BUILD_TOOLS)
  include(${PROJECT_SOURCE_DIR}/tests/e2e/script_test.cmake)
  foreach(trial A03 D01 D03 D09 D10 D14 F09)
    string(TOLOWER ${trial} name)
    tickertape_script_test(trial_${name}_program ${CMAKE_CURRENT_LIST_DIR}/program_trials.py
                           ARGS ${trial} LABELS trial e2e)
  endforeach()
endif()
