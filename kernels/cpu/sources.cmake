set(TICKERTAPE_CPU_SOURCES
  cpu/cpu_backend.cpp
  cpu/decoder_pass.cpp
  cpu/isa.cpp
  cpu/kernels_reference.cpp
  cpu/kernels_scalar.cpp
  cpu/kv_pages.cpp
  cpu/memory_budget.cpp
  cpu/memory_need.cpp
  cpu/memory_region.cpp
  cpu/output_head.cpp
  cpu/packed_matrix.cpp
  cpu/pass_plan.cpp
  cpu/weights.cpp)
# One rounding per operation, whichever compiler: fused only where the source says fma.
set_source_files_properties(${TICKERTAPE_CPU_SOURCES} PROPERTIES COMPILE_OPTIONS
                            "-ffp-contract=off")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  list(APPEND TICKERTAPE_CPU_SOURCES cpu/kernels_avx2.cpp)
  set_source_files_properties(cpu/kernels_avx2.cpp PROPERTIES COMPILE_OPTIONS
                              "-ffp-contract=off;-mavx2;-mfma;-mf16c")
endif()
list(APPEND TICKERTAPE_KERNEL_SOURCES ${TICKERTAPE_CPU_SOURCES})
