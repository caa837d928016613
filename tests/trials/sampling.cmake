# Trials of how tokens are chosen, on the real model.
tickertape_test(trial_c04_c08_c09_c12_d08_model
  SOURCES c04_test.cpp c08_test.cpp c09_test.cpp c12_test.cpp d08_model_test.cpp
  LIBS tickertape_actors tickertape_kernels tickertape_runtime
  LABELS trial model
  TIMEOUT 900)
