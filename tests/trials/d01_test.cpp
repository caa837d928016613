// D01: a model file with absurd counts and lengths is refused with one sentence and little memory.
#include <sys/resource.h>

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "tests/unit/formats/gguf_builder.hpp"
#include "tests/unit/formats/temp_file.hpp"

namespace tickertape {
namespace {

using test::GgufBuilder;
using test::little_endian;
using test::refusal;
using test::refusal_of;

long peak_kib() {
  rusage usage{};
  BOOST_REQUIRE(::getrusage(RUSAGE_SELF, &usage) == 0);
  return usage.ru_maxrss;
}

/// Every test case stays within 50 MB of what the process had before.
struct SmallMemory {
  long before = peak_kib();
  void teardown() const { BOOST_TEST(peak_kib() - before < 50 * 1024); }
};

/// Refused in one line that names `field`.
void check(std::string_view what, const std::string& message, std::string_view field) {
  BOOST_TEST_CONTEXT(what << ": " << message) {
    BOOST_TEST(message.find(field) != std::string::npos);
    BOOST_TEST(message.find('\n') == std::string::npos);
  }
}

std::string start(std::uint64_t num_tensors, std::uint64_t num_keys, std::uint32_t version = 3) {
  return "GGUF" + little_endian(version) + little_endian(num_tensors) + little_endian(num_keys);
}

BOOST_FIXTURE_TEST_SUITE(d01, SmallMemory)

BOOST_AUTO_TEST_CASE(counts_and_lengths) {
  constexpr std::uint64_t kOne = 1;
  check("tensor count", refusal_of(start(kOne << 63, 0)), "tensor count");
  check("metadata count", refusal_of(start(0, kOne << 60)), "metadata count");
  check("key length", refusal_of(start(0, 1) + little_endian((kOne << 63) - 1)), "metadata");
  // Padding, so that only the length in question is at fault.
  const std::string padding(64, '\0');
  check("key length", refusal_of(start(0, 1) + little_endian((kOne << 63) - 1) + padding),
        "metadata key 0");
  const std::string strings = GgufBuilder::array_head(test::gguf_string_id, kOne << 61) + padding;
  check("array of strings",
        refusal_of(GgufBuilder().raw("names", test::gguf_array, strings).build()), "names");
  const std::string doubles = GgufBuilder::array_head(test::gguf_f64, kOne << 61) + padding;
  check("array of f64", refusal_of(GgufBuilder().raw("scores", test::gguf_array, doubles).build()),
        "scores");
  const std::string text = little_endian((kOne << 62) + 3) + padding;
  check("string", refusal_of(GgufBuilder().raw("text", test::gguf_string_id, text).build()),
        "text");
}

BOOST_AUTO_TEST_CASE(nested_arrays) {
  std::string value;
  for (int depth = 0; depth < 1000; ++depth) value += GgufBuilder::array_head(test::gguf_array, 1);
  check("nested", refusal_of(GgufBuilder().raw("deep", test::gguf_array, value).build()), "deep");
}

BOOST_AUTO_TEST_CASE(unknown_value_types) {
  const std::string bytes(16, '\0');
  check("scalar", refusal_of(GgufBuilder().raw("odd", 99, bytes).build()), "odd");
  const std::string array = GgufBuilder::array_head(99, 1) + bytes;
  check("array", refusal_of(GgufBuilder().raw("odd", test::gguf_array, array).build()), "odd");
}

BOOST_AUTO_TEST_CASE(versions_and_magic) {
  for (const std::uint32_t version : {0U, 1U, 4U, 99U}) {
    check("version", refusal_of(start(0, 0, version)), "version " + std::to_string(version));
  }
  BOOST_TEST(refusal_of(start(0, 0, 2)).empty());
  check("swapped version", refusal_of(start(0, 0, 0x03000000)), "big-endian");
  check("swapped magic", refusal_of("FUGG" + start(0, 0).substr(4)), "big-endian");
  check("other file", refusal_of(std::string(100, 'x')), "not a GGUF file");
}

BOOST_AUTO_TEST_CASE(short_files) {
  const std::string header = start(0, 0);
  BOOST_TEST(header.size() == 24U);
  for (const std::size_t size : {0U, 3U, 4U, 7U, 8U, 15U, 23U}) {
    check("short", refusal_of(header.substr(0, size)), "truncated");
  }
}

BOOST_AUTO_TEST_CASE(things_that_are_no_files) {
  check("directory", refusal(std::filesystem::temp_directory_path()), "directory");
  check("/dev/zero", refusal("/dev/zero"), "not a regular file");
  check("missing", refusal("/nonexistent/model.gguf"), "cannot be opened");
}

BOOST_AUTO_TEST_CASE(dimension_counts) {
  for (const std::uint32_t num_dims : {0U, 5U, 9U, 0xffffffffU}) {
    const std::vector<std::uint64_t> dims(num_dims > 9 ? 9 : num_dims, 1);
    check("dimensions", refusal_of(GgufBuilder().raw_tensor("w", num_dims, dims, 0, 0).build()),
          "dimension count of tensor w");
  }
}

// A count may be honest about the file and still be absurd: memory has a limit of its own.
BOOST_AUTO_TEST_CASE(a_huge_sparse_file) {
  const std::string value = GgufBuilder::array_head(test::gguf_f64, std::uint64_t{1} << 36);
  const test::TempFile file(GgufBuilder().raw("scores", test::gguf_array, value).build());
  std::filesystem::resize_file(file.path(), std::uint64_t{1} << 40);
  check("sparse", refusal(file.path()), "scores");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace tickertape
