// D08: a chat ends at the end of the turn, whichever end token the model's file names.
#include <array>
#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/real_model.hpp"
#include "tests/support/recorded.hpp"
#include "tests/unit/formats/temp_file.hpp"

namespace tickertape::test {
namespace {

constexpr TokenId kEndOfText = 0;
constexpr TokenId kEndOfTurn = 2;

/// Where the file keeps the number under `key`: behind the key's text and the number's type.
std::streamoff offset_of(const std::filesystem::path& path, std::string_view key) {
  constexpr std::size_t kHead = 16U << 20;
  constexpr std::size_t kTypeBytes = 4;
  std::ifstream in(path, std::ios::binary);
  std::string head(kHead, '\0');
  in.read(head.data(), static_cast<std::streamsize>(head.size()));
  const auto at = head.find(key);
  BOOST_REQUIRE_MESSAGE(at != std::string::npos, "run tools/fetch_model smollm2");
  return static_cast<std::streamoff>(at + key.size() + kTypeBytes);
}

/// The real model with another end token in its file.
std::shared_ptr<const Model> model_that_names(TokenId end, const TempFile& copy) {
  std::filesystem::copy_file(std::string(TICKERTAPE_MODELS) + "/SmolLM2-135M-Instruct.Q4_1.gguf",
                             copy.path(), std::filesystem::copy_options::overwrite_existing);
  const auto offset = offset_of(copy.path(), "tokenizer.ggml.eos_token_id");
  std::fstream file(copy.path(), std::ios::binary | std::ios::in | std::ios::out);
  std::array<char, sizeof(std::uint32_t)> value{};
  file.seekg(offset);
  file.read(value.data(), value.size());
  std::uint32_t named = 0;
  std::memcpy(&named, value.data(), value.size());
  BOOST_REQUIRE(named == static_cast<std::uint32_t>(kEndOfTurn));
  named = static_cast<std::uint32_t>(end);
  std::memcpy(value.data(), &named, value.size());
  file.seekp(offset);
  file.write(value.data(), value.size());
  BOOST_REQUIRE(file.flush());
  file.close();
  return load_model(copy.path().string());
}

Recorded chat(const std::shared_ptr<const Model>& model) {
  Engine engine(model, small_pool());
  Request request;
  request.messages = {{"user", "What is the capital of France? Answer in one sentence."}};
  request.max_tokens = 200;
  request.sampling.temperature = 0;
  return record_alone(engine, request);
}

BOOST_AUTO_TEST_CASE(d08_a_chat_ends_with_its_turn_whatever_the_file_names) {
  const Recorded expected = chat(real_model());
  BOOST_REQUIRE(!expected.ids().empty());
  for (const TokenId end : {kEndOfText, kEndOfTurn}) {
    const TempFile copy("");
    const Recorded answer = chat(model_that_names(end, copy));
    BOOST_TEST_CONTEXT("the file names token " << end) {
      BOOST_TEST((answer.finish.reason == FinishReason::stop));
      BOOST_TEST(answer.finish.usage.completion_tokens < 200U);
      BOOST_TEST(answer.ids() == expected.ids(), boost::test_tools::per_element());
      std::string text;
      for (const Token& token : answer.tokens()) text += token.text;
      BOOST_TEST(text.find("<|") == std::string::npos, text);
      BOOST_TEST(text.find("Paris") != std::string::npos, text);
    }
  }
}

}  // namespace
}  // namespace tickertape::test
