foreach(trial b04 d09 d10)
  tickertape_test(trial_${trial}
    SOURCES ${trial}_test.cpp
    LIBS tickertape_kernels tickertape_runtime nlohmann_json::nlohmann_json
    LABELS trial)
endforeach()
