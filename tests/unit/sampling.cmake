tickertape_test(unit_sampling
  SOURCES sampling/philox_test.cpp sampling/candidates_test.cpp sampling/sampler_test.cpp
          sampling/logprobs_test.cpp sampling/logit_steps_test.cpp
          sampling/slot_sampling_test.cpp
  LIBS tickertape_kernels
  LABELS unit)
