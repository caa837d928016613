list(APPEND TICKERTAPE_KERNEL_SOURCES
  ${CMAKE_CURRENT_SOURCE_DIR}/text/bpe_merges.cpp
  ${CMAKE_CURRENT_SOURCE_DIR}/text/bpe_tokenizer.cpp
  ${CMAKE_CURRENT_SOURCE_DIR}/text/byte_alphabet.cpp
  ${CMAKE_CURRENT_SOURCE_DIR}/text/chat_ml_template.cpp
  ${CMAKE_CURRENT_SOURCE_DIR}/text/detokenizer.cpp
  ${CMAKE_CURRENT_SOURCE_DIR}/text/load.cpp
  ${CMAKE_CURRENT_SOURCE_DIR}/text/pre_tokenizer.cpp
  ${CMAKE_CURRENT_SOURCE_DIR}/text/special_tokens.cpp
  ${CMAKE_CURRENT_SOURCE_DIR}/text/utf8.cpp)
