list(APPEND TICKERTAPE_KERNEL_SOURCES
  ${CMAKE_CURRENT_SOURCE_DIR}/formats/ggml_type.cpp
  ${CMAKE_CURRENT_SOURCE_DIR}/formats/gguf.cpp
  ${CMAKE_CURRENT_SOURCE_DIR}/formats/gguf_reader.cpp
  ${CMAKE_CURRENT_SOURCE_DIR}/formats/input_file.cpp)
