# Trials of how tokens are chosen, on the real model.
tickertape_test(trial_sampling
  SOURCES c04_test.cpp c08_test.cpp c09_test.cpp c12_test.cpp
  LIBS tickertape_actors tickertape_kernels tickertape_runtime
  LABELS trial model
  TIMEOUT 900)
