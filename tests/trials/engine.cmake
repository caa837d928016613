tickertape_test(trial_a03_engine SOURCES a03_test.cpp
  LIBS tickertape_actors tickertape_kernels tickertape_runtime LABELS trial)
tickertape_test(trial_c02_same_tokens SOURCES c02_test.cpp
  LIBS tickertape_actors tickertape_kernels tickertape_runtime LABELS trial model TIMEOUT 900)
