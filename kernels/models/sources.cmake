list(APPEND TICKERTAPE_KERNEL_SOURCES
  models/llama.cpp
  models/load_model.cpp)
