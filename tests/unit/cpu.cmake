tickertape_test(unit_cpu
  SOURCES cpu/half_test.cpp cpu/packed_matrix_test.cpp cpu/matmul_test.cpp
          cpu/lane_kernels_test.cpp cpu/pass_plan_test.cpp cpu/isa_test.cpp
          cpu/cpu_backend_test.cpp cpu/llama_test.cpp cpu/memory_test.cpp
  LIBS tickertape_kernels tickertape_runtime
  LABELS unit)
