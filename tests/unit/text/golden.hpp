// The reference data and the real model that tests of text compare with.
#pragma once
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/text/load.hpp"

namespace tickertape::test {

/// tests/data/smollm2-135m-open.json.
inline const nlohmann::json& smollm2_golden() {
  static const nlohmann::json golden =
      nlohmann::json::parse(std::ifstream(TICKERTAPE_TEST_DATA "/smollm2-135m-open.json"));
  return golden;
}

inline const kernels::formats::GgufFile& smollm2_file() {
  static const kernels::formats::GgufFile file = [] {
    const std::filesystem::path path = TICKERTAPE_MODELS "/SmolLM2-135M-Instruct.Q4_1.gguf";
    BOOST_REQUIRE_MESSAGE(std::filesystem::exists(path), "run tools/fetch_model smollm2");
    return kernels::formats::GgufFile::open(path);
  }();
  return file;
}

inline const std::shared_ptr<const Tokenizer>& smollm2_tokenizer() {
  static const std::shared_ptr<const Tokenizer> tokenizer =
      kernels::text::make_tokenizer(smollm2_file());
  BOOST_REQUIRE(tokenizer != nullptr);
  return tokenizer;
}

/// Every text of the golden file with its ids: tokenizer lines, prompts and the passage.
struct GoldenText {
  std::string text;
  std::vector<TokenId> ids;
};

inline std::vector<GoldenText> smollm2_texts() {
  std::vector<GoldenText> texts;
  const auto add = [&](const nlohmann::json& entry) {
    texts.push_back({entry.at("text"), entry.at("ids")});
  };
  for (const char* list : {"tokenizer", "chat", "raw"}) {
    for (const nlohmann::json& entry : smollm2_golden().at(list)) add(entry);
  }
  add(smollm2_golden().at("passage"));
  return texts;
}

}  // namespace tickertape::test
