tickertape_test(formats_test
  SOURCES formats/gguf_test.cpp
  LIBS tickertape_kernels tickertape_runtime
  LABELS unit asan)
