tickertape_test(unit_fake
  SOURCES fake/paged_fake_test.cpp fake/paged_fake_contract_test.cpp fake/fake_tokenizer_test.cpp
          fake/script_test.cpp fake/scripted_test.cpp fake/simulated_test.cpp
          fake/workload_test.cpp
  LIBS tickertape_kernels tickertape_runtime
  LABELS unit)
