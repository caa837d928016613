list(APPEND TICKERTAPE_KERNEL_SOURCES
  ${CMAKE_CURRENT_SOURCE_DIR}/fake/completions.cpp
  ${CMAKE_CURRENT_SOURCE_DIR}/fake/fake_law.cpp
  ${CMAKE_CURRENT_SOURCE_DIR}/fake/fake_tokenizer.cpp
  ${CMAKE_CURRENT_SOURCE_DIR}/fake/paged_fake.cpp
  ${CMAKE_CURRENT_SOURCE_DIR}/fake/paged_fake_backend.cpp
  ${CMAKE_CURRENT_SOURCE_DIR}/fake/paged_memory.cpp
  ${CMAKE_CURRENT_SOURCE_DIR}/fake/script.cpp
  ${CMAKE_CURRENT_SOURCE_DIR}/fake/scripted_backend.cpp
  ${CMAKE_CURRENT_SOURCE_DIR}/fake/scripted_model.cpp
  ${CMAKE_CURRENT_SOURCE_DIR}/fake/scripted_probe.cpp
  ${CMAKE_CURRENT_SOURCE_DIR}/fake/scripted_tokenizer.cpp)
