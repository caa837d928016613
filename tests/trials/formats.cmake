foreach(trial d01 d03 d04 d05)
  tickertape_test(trial_${trial}
    SOURCES ${trial}_test.cpp
    LIBS tickertape_kernels tickertape_runtime
    LABELS trial)
endforeach()
