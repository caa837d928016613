foreach(trial b04 d08 d09 d10 d12 d13)
  tickertape_test(trial_${trial}
    SOURCES ${trial}_test.cpp
    LIBS tickertape_kernels tickertape_runtime nlohmann_json::nlohmann_json
    LABELS trial)
endforeach()
tickertape_test(trial_d07 SOURCES d07_test.cpp
  LIBS tickertape_actors tickertape_kernels tickertape_runtime LABELS trial)
