// GgufFile: look-ups, tensors, bad metadata.
#include "kernels/formats/gguf.hpp"

#include <bit>
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "tests/unit/formats/gguf_builder.hpp"
#include "tests/unit/formats/temp_file.hpp"

namespace tickertape {
namespace {

using kernels::formats::GgmlType;
using kernels::formats::GgufFile;
using kernels::formats::TensorInfo;
using test::GgufBuilder;
using test::little_endian;
using test::refusal_of;
using test::TempFile;

GgufFile open_bytes(const std::string& bytes) {
  return GgufFile::open(TempFile(bytes).path());
}

bool says(const std::string& message, std::string_view part) {
  return message.find(part) != std::string::npos;
}

template <class Call>
std::string error_of(Call&& call) {
  try {
    static_cast<void>(call());
  } catch (const Error& error) {
    BOOST_TEST((error.info().code == Errc::invalid_model));
    return error.what();
  }
  return {};
}

GgufBuilder with_every_integer() {
  GgufBuilder builder;
  builder.raw("u8", test::gguf_u8, "\x7f")
      .raw("i8", test::gguf_i8, "\x7f")
      .raw("u16", test::gguf_u16, little_endian<std::uint16_t>(127))
      .raw("i16", test::gguf_i16, little_endian<std::int16_t>(127))
      .raw("u32", test::gguf_u32, little_endian<std::uint32_t>(127))
      .raw("i32", test::gguf_i32, little_endian<std::int32_t>(127))
      .raw("u64", test::gguf_u64, little_endian<std::uint64_t>(127))
      .raw("i64", test::gguf_i64, little_endian<std::int64_t>(127));
  return builder;
}

BOOST_AUTO_TEST_SUITE(gguf)

BOOST_AUTO_TEST_CASE(an_integer_of_any_width_is_accepted_in_range) {
  const GgufFile file = open_bytes(with_every_integer().build());
  for (const char* key : {"u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64"}) {
    BOOST_TEST(file.get_u32(key, 127, 127) == 127U);
    BOOST_TEST(says(error_of([&] { return file.get_u32(key, 0, 126); }), "126"));
    BOOST_TEST(says(error_of([&] { return file.get_u32(key, 128, 500); }), key));
  }
}

BOOST_AUTO_TEST_CASE(negative_and_wide_integers_are_out_of_range) {
  const GgufFile file =
      open_bytes(GgufBuilder()
                     .raw("minus", test::gguf_i8, "\xff")
                     .raw("wide", test::gguf_u64, little_endian(std::uint64_t{1} << 32))
                     .build());
  BOOST_TEST(says(error_of([&] { return file.get_u32("minus"); }), "-1"));
  BOOST_TEST(says(error_of([&] { return file.get_u32("wide"); }), "4294967296"));
}

BOOST_AUTO_TEST_CASE(floats_have_ranges_and_nan_is_in_none) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const GgufFile file = open_bytes(
      GgufBuilder()
          .f32("small", 1e-5F)
          .raw("double", test::gguf_f64, little_endian(std::bit_cast<std::uint64_t>(0.5)))
          .raw("nan", test::gguf_f64, little_endian(std::bit_cast<std::uint64_t>(nan)))
          .build());
  BOOST_TEST(file.get_f32("small", 0, 1) == 1e-5F);
  BOOST_TEST(file.get_f32("double", 0, 1) == 0.5F);
  BOOST_TEST(says(error_of([&] { return file.get_f32("double", 1, 2); }), "double"));
  BOOST_TEST(says(error_of([&] { return file.get_f32("nan", 0, 1); }), "nan"));
}

BOOST_AUTO_TEST_CASE(strings_bools_and_arrays_are_returned) {
  const GgufFile file = open_bytes(GgufBuilder()
                                       .string("text", std::string("a\0b", 3))
                                       .boolean("yes", true)
                                       .strings("names", {"x", "", "zz"})
                                       .i32s("numbers", {-1, 0, 7})
                                       .f32s("scores", {0.5F, -2})
                                       .build());
  BOOST_TEST((file.get_string("text") == std::string_view("a\0b", 3)));
  BOOST_TEST(file.find_bool("yes").value());
  const auto names = file.get_string_array("names");
  BOOST_TEST((std::vector<std::string>(names.begin(), names.end()) ==
              std::vector<std::string>{"x", "", "zz"}));
  BOOST_TEST((file.get_i32_array("numbers") == std::vector<std::int32_t>{-1, 0, 7}));
  BOOST_TEST((file.get_f32_array("scores") == std::vector<float>{0.5F, -2}));
  BOOST_TEST(file.metadata().size() == 5U);
}

BOOST_AUTO_TEST_CASE(missing_keys_are_named_or_nullopt) {
  const GgufFile file = open_bytes(GgufBuilder().build());
  BOOST_TEST(!file.has("llama.block_count"));
  BOOST_TEST(!file.find_u32("llama.block_count").has_value());
  BOOST_TEST(!file.find_string("llama.block_count").has_value());
  BOOST_TEST(says(error_of([&] { return file.get_u32("llama.block_count"); }),
                  "llama.block_count is missing"));
  BOOST_TEST(says(error_of([&] { return file.get_tensor("output.weight").size_bytes; }),
                  "output.weight is missing"));
}

BOOST_AUTO_TEST_CASE(a_value_of_another_kind_is_refused_with_both_kinds) {
  const GgufFile file = open_bytes(GgufBuilder().string("a", "12").u32("b", 12).build());
  BOOST_TEST(says(error_of([&] { return file.get_u32("a"); }), "kind string"));
  BOOST_TEST(says(error_of([&] { return file.get_string("b"); }), "a string"));
  BOOST_TEST(says(error_of([&] { return file.get_f32("b", 0, 99); }), "a float"));
  BOOST_TEST(says(error_of([&] { return file.find_bool("b"); }), "a bool"));
  BOOST_TEST(says(error_of([&] { return file.get_string_array("b"); }), "array of strings"));
  BOOST_TEST(says(error_of([&] { return file.get_i32_array("b"); }), "array of integers"));
  BOOST_TEST(says(error_of([&] { return file.get_f32_array("b"); }), "array of floats"));
}

BOOST_AUTO_TEST_CASE(tensors_are_placed_and_read) {
  const std::string first(34, 'q');
  const std::string second = little_endian(1U) + little_endian(2U) + little_endian(3U);
  const TempFile file(
      GgufBuilder().tensor("first", 8, {32}, first).tensor("second", 0, {3, 1}, second).build());
  const GgufFile gguf = GgufFile::open(file.path());
  BOOST_TEST(gguf.tensors().size() == 2U);
  const TensorInfo& info = gguf.get_tensor("second");
  BOOST_TEST((info.type == GgmlType::f32));
  BOOST_TEST(info.num_dims == 2U);
  BOOST_TEST(info.num_elements() == 3U);
  BOOST_TEST(info.size_bytes == 12U);
  BOOST_TEST(info.file_offset % 32 == 0U);
  std::vector<std::byte> bytes(12);
  gguf.read_tensor(info, bytes);
  BOOST_TEST(std::to_integer<int>(bytes[8]) == 3);
  std::vector<std::byte> part(4);
  gguf.read_tensor_part(info, 4, part);
  BOOST_TEST(std::to_integer<int>(part[0]) == 2);
  BOOST_TEST(gguf.find_tensor("third") == nullptr);
  BOOST_TEST(gguf.file_size() == std::filesystem::file_size(file.path()));
}

BOOST_AUTO_TEST_CASE(a_moved_file_still_finds_its_tensors) {
  GgufFile first = open_bytes(GgufBuilder().tensor("w", 0, {1}, "abcd").build());
  const GgufFile second = std::move(first);
  std::vector<std::byte> bytes(4);
  second.read_tensor(second.get_tensor("w"), bytes);
  BOOST_TEST(std::to_integer<char>(bytes[3]) == 'd');
}

BOOST_AUTO_TEST_CASE(version_2_is_accepted) {
  BOOST_TEST(refusal_of(GgufBuilder().version(2).u32("a", 1).build()).empty());
}

BOOST_AUTO_TEST_CASE(duplicates_are_refused) {
  BOOST_TEST(says(refusal_of(GgufBuilder().u32("a", 1).u32("a", 2).build()), "key a appears"));
  BOOST_TEST(says(
      refusal_of(GgufBuilder().tensor("w", 0, {1}, "abcd").tensor("w", 0, {1}, "abcd").build()),
      "tensor w appears"));
}

BOOST_AUTO_TEST_CASE(alignment_must_be_a_power_of_two) {
  for (const std::uint32_t value : {0U, 3U, 4U, 24U, 0xffffffffU}) {
    BOOST_TEST(says(refusal_of(GgufBuilder().u32("general.alignment", value).build()),
                    "general.alignment"));
  }
  BOOST_TEST(
      says(refusal_of(GgufBuilder().string("general.alignment", "32").build()), "kind string"));
  const std::string bytes =
      GgufBuilder().u32("general.alignment", 256).tensor("w", 0, {1}, "abcd").build(256);
  BOOST_TEST(open_bytes(bytes).get_tensor("w").file_offset % 256 == 0U);
}

BOOST_AUTO_TEST_CASE(impossible_tensors_are_refused_by_name) {
  const auto refused = [](std::uint32_t num_dims, const std::vector<std::uint64_t>& dims,
                          std::uint32_t type, std::uint64_t offset) {
    return refusal_of(GgufBuilder().raw_tensor("blk.0", num_dims, dims, type, offset).build());
  };
  constexpr std::uint64_t kBig = std::uint64_t{1} << 63;
  BOOST_TEST(says(refused(2, {4, 0}, 0, 0), "dimension 1 of tensor blk.0 is 0"));
  BOOST_TEST(says(refused(1, {33}, 8, 0), "Q8_0 block size 32"));
  BOOST_TEST(says(refused(1, {32}, 4, 0), "type of tensor blk.0 is 4"));
  BOOST_TEST(says(refused(1, {32}, 99, 0), "type of tensor blk.0 is 99"));
  BOOST_TEST(says(refused(2, {kBig, 2}, 0, 0), "overflow"));
  BOOST_TEST(says(refused(1, {kBig}, 28, 0), "overflow"));
  BOOST_TEST(says(refused(1, {1}, 0, 8), "offset of tensor blk.0"));
  BOOST_TEST(says(refused(1, {1}, 0, ~std::uint64_t{31}), "overflow"));
  BOOST_TEST(says(refused(1, {1}, 0, std::uint64_t{1} << 40), "truncated"));
}

BOOST_AUTO_TEST_CASE(types_that_are_not_computed_are_known_by_name) {
  const auto* q4_k = kernels::formats::find_traits(12);
  BOOST_REQUIRE(q4_k != nullptr);
  BOOST_TEST(q4_k->name == "Q4_K");
  BOOST_TEST(!q4_k->computable);
  BOOST_TEST(kernels::formats::traits(GgmlType::q4_1).computable);
  BOOST_TEST(kernels::formats::traits(GgmlType::q4_1).block_bytes == 20U);
  BOOST_TEST(kernels::formats::find_traits(31) == nullptr);
}

BOOST_AUTO_TEST_CASE(a_bool_is_0_or_1) {
  BOOST_TEST(says(refusal_of(GgufBuilder().raw("flag", test::gguf_bool, "\x02").build()), "flag"));
}

// One byte of a valid file changed at a time: accepted or refused, never anything else.
BOOST_AUTO_TEST_CASE(any_changed_byte_is_accepted_or_refused) {
  const std::string valid = GgufBuilder()
                                .string("general.architecture", "llama")
                                .strings("tokens", {"a", "b"})
                                .i32s("types", {1, 3})
                                .tensor("w", 8, {32, 2}, std::string(68, 'w'))
                                .build();
  std::size_t refused = 0;
  for (std::size_t at = 0; at < valid.size(); ++at) {
    for (const char value : {'\x00', '\x01', '\x7f', '\xff'}) {
      std::string bytes = valid;
      bytes[at] = value;
      refused += refusal_of(bytes).empty() ? 0 : 1;
    }
  }
  BOOST_TEST(refused > 100U);
  BOOST_TEST(refusal_of(valid).empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace tickertape
