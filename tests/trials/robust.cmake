# Trials of robustness: exceptions, cancellations, threads, stacks, shutdown, memory.
tickertape_test(trial_a17_g03_g04_g06_g08_g09_g10_engine
  SOURCES a17_test.cpp g03_test.cpp g04_test.cpp g06_test.cpp g08_test.cpp g09_test.cpp g10_test.cpp
  LIBS tickertape_actors tickertape_kernels tickertape_runtime LABELS trial TIMEOUT 900)
tickertape_test(trial_g03_g08_g09_net
  SOURCES g03_net_test.cpp g08_net_test.cpp g09_net_test.cpp
  LIBS tickertape_test_net LABELS trial)
# Apart, since it replaces `new`.
tickertape_test(trial_g03_faults_net
  SOURCES g03_faults_net_test.cpp ${PROJECT_SOURCE_DIR}/tests/support/failing_new.cpp
  LIBS tickertape_test_net LABELS trial)
# The rounds of g04 with 100,000 mailboxes and the two minutes of a17.
foreach(trial a17 g04)
  add_test(NAME trial_${trial}_engine_long
           COMMAND trial_a17_g03_g04_g06_g08_g09_g10_engine --run_test=*${trial}_* -- --long)
  set_tests_properties(trial_${trial}_engine_long PROPERTIES LABELS "trial;long" TIMEOUT 1800)
endforeach()
if(TICKERTAPE_BUILD_TOOLS)
  include(${PROJECT_SOURCE_DIR}/tests/e2e/script_test.cmake)
  foreach(trial f01 g11)
    tickertape_script_test(trial_${trial}_program ${CMAKE_CURRENT_LIST_DIR}/${trial}_program_test.py
                           LABELS trial e2e)
  endforeach()
  tickertape_script_test(trial_f01_program_long ${CMAKE_CURRENT_LIST_DIR}/f01_program_test.py
                         ARGS --long LABELS trial e2e long)
endif()
