tickertape_test(trial_a03_engine SOURCES a03_test.cpp
  LIBS tickertape_actors tickertape_kernels tickertape_runtime LABELS trial)
# These are told tick by tick what to do, share a program, and have an entry each.
tickertape_test(trial_a02_a04_a07_a08_a12_a15_engine
  SOURCES a02_test.cpp a04_test.cpp a07_test.cpp a08_test.cpp a12_test.cpp a15_test.cpp
          ${PROJECT_SOURCE_DIR}/tests/support/ticked_engine.cpp
  LIBS tickertape_actors tickertape_kernels tickertape_runtime
  LABELS trial asan ARGS --run_test=a02_*)
foreach(trial a04 a07 a08 a12 a15)
  add_test(NAME trial_${trial}_engine
           COMMAND trial_a02_a04_a07_a08_a12_a15_engine --run_test=${trial}_*)
  set_tests_properties(trial_${trial}_engine PROPERTIES LABELS "trial;asan" TIMEOUT 300)
endforeach()
tickertape_test(trial_c02_same_tokens SOURCES c02_test.cpp
  LIBS tickertape_actors tickertape_kernels tickertape_runtime LABELS trial model TIMEOUT 900)
