list(APPEND TICKERTAPE_KERNEL_SOURCES
  ${CMAKE_CURRENT_SOURCE_DIR}/sampling/candidates.cpp
  ${CMAKE_CURRENT_SOURCE_DIR}/sampling/logit_steps.cpp
  ${CMAKE_CURRENT_SOURCE_DIR}/sampling/logprobs.cpp
  ${CMAKE_CURRENT_SOURCE_DIR}/sampling/mass_cut.cpp
  ${CMAKE_CURRENT_SOURCE_DIR}/sampling/sampler.cpp
  ${CMAKE_CURRENT_SOURCE_DIR}/sampling/slot_sampling.cpp
  ${CMAKE_CURRENT_SOURCE_DIR}/sampling/token_history.cpp
  ${CMAKE_CURRENT_SOURCE_DIR}/sampling/typicality.cpp
  ${CMAKE_CURRENT_SOURCE_DIR}/sampling/weights.cpp)
# Fused multiply-adds would make a draw depend on the instruction set it was compiled for.
set_source_files_properties(${CMAKE_CURRENT_SOURCE_DIR}/sampling/mass_cut.cpp
                            ${CMAKE_CURRENT_SOURCE_DIR}/sampling/typicality.cpp
                            ${CMAKE_CURRENT_SOURCE_DIR}/sampling/weights.cpp
  PROPERTIES COMPILE_OPTIONS "-O3;-ffp-contract=off")
