tickertape_test(text_test
  SOURCES
    text/bpe_merges_test.cpp
    text/bpe_tokenizer_test.cpp
    text/byte_alphabet_test.cpp
    text/detokenizer_test.cpp
    text/jinja_errors_test.cpp
    text/jinja_expressions_test.cpp
    text/jinja_marks_test.cpp
    text/jinja_mutation_test.cpp
    text/jinja_template_test.cpp
    text/load_test.cpp
    text/pre_tokenizer_test.cpp
    text/special_tokens_test.cpp
    text/utf8_test.cpp
  LIBS tickertape_kernels tickertape_runtime nlohmann_json::nlohmann_json
  LABELS unit asan)
