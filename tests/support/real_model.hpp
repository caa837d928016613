// real_model: the model that the real-model tests run, opened once.
#pragma once
#include <memory>
#include <string>

#include <tickertape/engine.hpp>

namespace tickertape::test {

inline std::shared_ptr<const Model> real_model() {
  static const auto model =
      load_model(std::string(TICKERTAPE_MODELS) + "/SmolLM2-135M-Instruct.Q4_1.gguf");
  return model;
}

/// Room for a few short requests.
inline EngineOptions small_pool() {
  EngineOptions options;
  options.page_size = 16;
  options.num_kv_pages = 64;
  options.max_num_seqs = 8;
  return options;
}

}  // namespace tickertape::test
