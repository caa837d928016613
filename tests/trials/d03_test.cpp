// D03: a cut-off download is refused at load, with the expected and the actual size.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/unit/formats/gguf_builder.hpp"
#include "tests/unit/formats/temp_file.hpp"

namespace tickertape {
namespace {

using kernels::formats::GgufFile;
using kernels::formats::TensorInfo;
using test::GgufBuilder;
using test::refusal;
using test::refusal_of;
using test::TempFile;

GgufBuilder small_model() {
  GgufBuilder builder;
  builder.string("general.architecture", "llama")
      .strings("tokenizer.ggml.tokens", {"a", "b", "c"})
      .tensor("token_embd.weight", 8, {32, 3}, std::string(102, 'e'))
      .tensor("output_norm.weight", 0, {32}, std::string(128, 'n'));
  return builder;
}

bool tells_sizes(const std::string& message, std::uint64_t expected, std::uint64_t actual) {
  return message.find("truncated") != std::string::npos &&
         message.find(std::to_string(expected)) != std::string::npos &&
         message.find(std::to_string(actual)) != std::string::npos;
}

BOOST_AUTO_TEST_SUITE(d03)

BOOST_AUTO_TEST_CASE(every_cut_of_a_small_file_is_refused) {
  const std::string whole = small_model().build();
  const std::size_t header = small_model().header().size();
  BOOST_TEST(refusal_of(whole).empty());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::string message = refusal_of(whole.substr(0, size));
    BOOST_TEST_CONTEXT("cut at " << size << ": " << message) {
      BOOST_TEST(message.find("truncated") != std::string::npos);
      if (size >= header) BOOST_TEST(tells_sizes(message, whole.size(), size));
    }
  }
}

BOOST_AUTO_TEST_CASE(cuts_of_the_real_model) {
  const std::filesystem::path model = TICKERTAPE_MODELS "/SmolLM2-135M-Instruct.Q4_1.gguf";
  BOOST_REQUIRE_MESSAGE(std::filesystem::exists(model), "run tools/fetch_model smollm2");
  const std::uint64_t size = std::filesystem::file_size(model);
  std::uint64_t header = size;
  const GgufFile gguf = GgufFile::open(model);
  for (const TensorInfo& info : gguf.tensors()) {
    header = std::min(header, info.file_offset);
  }
  // The rest of a cut file is a hole: only the size matters after the header.
  std::string head(header, '\0');
  std::ifstream(model, std::ios::binary).read(head.data(), static_cast<std::streamsize>(header));
  for (const std::uint64_t cut :
       {header, header + 1, size / 10, size / 2, size / 100 * 99, size - 1}) {
    const TempFile copy(head.substr(0, std::min(cut, header)));
    std::filesystem::resize_file(copy.path(), cut);
    BOOST_TEST(tells_sizes(refusal(copy.path()), size, cut));
  }
}

BOOST_AUTO_TEST_CASE(a_file_that_shrinks_after_opening_gives_an_error) {
  const TempFile file(small_model().build());
  const GgufFile gguf = GgufFile::open(file.path());
  const TensorInfo& last = gguf.get_tensor("output_norm.weight");
  std::filesystem::resize_file(file.path(), last.file_offset + 5);
  std::vector<std::byte> out(last.size_bytes);
  BOOST_CHECK_EXCEPTION(gguf.read_tensor(last, out), Error, [&](const Error& error) {
    return tells_sizes(error.what(), last.file_offset + last.size_bytes, last.file_offset + 5);
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace tickertape
