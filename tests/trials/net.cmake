# Trials over a real socket, on the scripted model and the paged fake.
foreach(trial a06 a10 a16 b01 b02 b04 b12 c03 d14 g02 g05)
  # Disconnects and churn also run under the sanitizers.
  set(labels trial)
  if(trial MATCHES "b02|g02")
    list(APPEND labels threads)
  endif()
  tickertape_test(trial_${trial}_net
    SOURCES ${trial}_net_test.cpp LIBS tickertape_test_net LABELS ${labels})
endforeach()

# These share a program, and have an entry each.
set(wire_trials a11 b14 b19 c06 c07 c10 c11)
list(TRANSFORM wire_trials APPEND _net_test.cpp OUTPUT_VARIABLE wire_sources)
tickertape_test(trial_a11_net SOURCES ${wire_sources} LIBS tickertape_test_net
                LABELS trial ARGS --run_test=a11)
foreach(trial b14 b19 c06 c07 c10 c11)
  add_test(NAME trial_${trial}_net COMMAND trial_a11_net --run_test=${trial})
  set_tests_properties(trial_${trial}_net PROPERTIES LABELS trial TIMEOUT 300)
endforeach()
