// D04: metadata out of range is refused by the key's name, or is harmless; it never ends a process.
#include <bit>
#include <boost/test/unit_test.hpp>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "tests/support/gguf_trial.hpp"

namespace tickertape::test {
namespace {

constexpr std::uint32_t kMax = 0xffffffff;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Case {
  std::string name;
  std::string key;  ///< Replaced by `add`, or only added.
  std::function<void(GgufBuilder&, const std::string& key)> add;
  std::string part;  ///< Of the message besides the key; "accepted" for a harmless one.
};

using Builder = GgufBuilder;
auto u32(std::uint32_t value) {
  return [=](Builder& b, const std::string& key) { b.u32(key, value); };
}
auto f32(float value) {
  return [=](Builder& b, const std::string& key) { b.f32(key, value); };
}
auto text(std::string value) {
  return [=](Builder& b, const std::string& key) { b.string(key, value); };
}
template <class Integer>
auto raw(GgufTypeId type, Integer value) {
  return [=](Builder& b, const std::string& key) { b.raw(key, type, little_endian(value)); };
}
auto f64(double value) {
  return raw(gguf_f64, std::bit_cast<std::uint64_t>(value));
}

std::vector<Case> cases() {
  const std::string l = "llama.";
  const std::string heads = l + "attention.head_count";
  const std::string epsilon = l + "attention.layer_norm_rms_epsilon";
  const std::string base = l + "rope.freq_base";
  return {
      {"alignment 0", "general.alignment", u32(0), "is 0"},
      {"alignment 3", "general.alignment", u32(3), "is 3"},
      {"alignment 24", "general.alignment", u32(24), "power of two"},
      {"alignment 2^31", "general.alignment", u32(1U << 31), "2147483648"},
      {"alignment as text", "general.alignment", text("32"), "string"},
      {"alignment as u64", "general.alignment", raw(gguf_u64, std::uint64_t{32}), "accepted"},
      {"no architecture", "general.architecture", [](auto&, auto&) {}, "missing"},
      {"architecture as number", "general.architecture", u32(1), "string"},
      {"no layers", l + "block_count", u32(0), "is 0"},
      {"a million layers", l + "block_count", u32(1000000), "is 1000000"},
      {"one layer too many", l + "block_count", u32(3), "blk.2.attn_norm.weight"},
      {"one layer too few", l + "block_count", u32(1), "blk.1."},
      {"negative layers", l + "block_count", raw(gguf_i32, std::int32_t{-1}), "is -1"},
      {"layers as text", l + "block_count", text("2"), "string"},
      {"layers as float", l + "block_count", f32(2), "float"},
      {"layers as i32", l + "block_count", raw(gguf_i32, std::int32_t{2}), "accepted"},
      {"layers as u8", l + "block_count", raw(gguf_u8, std::uint8_t{2}), "accepted"},
      {"no heads", heads, u32(0), "is 0"},
      {"heads that do not divide", heads, u32(3), "is 3"},
      {"too many heads", heads, u32(kMax), "is 4294967295"},
      {"no key heads", heads + "_kv", u32(0), "is 0"},
      {"key heads that do not divide", heads + "_kv", u32(3), "is 3"},
      {"odd heads", l + "attention.key_length", u32(15), "is 15"},
      {"heads of 0", l + "attention.key_length", u32(0), "is 0"},
      {"heads of other values", l + "attention.value_length", u32(24), "is 24"},
      {"width 0", l + "embedding_length", u32(0), "is 0"},
      {"width 2^32 - 1", l + "embedding_length", u32(kMax), "is 4294967295"},
      {"another width", l + "embedding_length", u32(128), "[64, 300]"},
      {"width as bool", l + "embedding_length", raw(gguf_bool, std::uint8_t{1}), "bool"},
      {"feed forward 0", l + "feed_forward_length", u32(0), "is 0"},
      {"feed forward as u64", l + "feed_forward_length", raw(gguf_u64, std::uint64_t{96}),
       "accepted"},
      {"context 0", l + "context_length", u32(0), "is 0"},
      {"context 2^32 - 1", l + "context_length", u32(kMax), "is 4294967295"},
      {"context 2^64 - 1", l + "context_length", raw(gguf_u64, ~std::uint64_t{0}), "is 1844674"},
      {"base NaN", base, f32(kNan), "nan"},
      {"base 0", base, f32(0), "is 0"},
      {"base infinite", base, f32(kInfinity), "inf"},
      {"base as f64", base, f64(10000), "accepted"},
      {"base as u32", base, u32(10000), "float"},
      {"odd turning part", l + "rope.dimension_count", u32(7), "is 7"},
      {"no turning part", l + "rope.dimension_count", u32(0), "is 0"},
      {"epsilon 0", epsilon, f32(0), "accepted"},
      {"epsilon below 0", epsilon, f32(-1e-5F), "is -0.00001"},
      {"epsilon NaN", epsilon, f32(kNan), "nan"},
      {"epsilon as text", epsilon, text("1e-5"), "string"},
      {"vocabulary 0", l + "vocab_size", u32(0), "is 0"},
      {"vocabulary as text", l + "vocab_size", text("300"), "string"},
      {"experts as text", l + "expert_count", text("0"), "string"},
      {"scaling as number", l + "rope.scaling.type", u32(1), "string"},
  };
}

BOOST_AUTO_TEST_CASE(d04_values_out_of_range) {
  BOOST_TEST(cases().size() >= 35U);
  for (const Case& patched : cases()) {
    TinyLlama llama;
    llama.without.insert(patched.key);
    llama.add = [&](GgufBuilder& builder) { patched.add(builder, patched.key); };
    const std::string message = outcome_of(llama);
    BOOST_TEST_CONTEXT(patched.name << ": " << message) {
      if (patched.part == "accepted") {
        BOOST_TEST(message.empty());
        continue;
      }
      const std::string last = patched.key.substr(patched.key.rfind('.') + 1);
      const bool names_key = message.find(last) != std::string::npos ||
                             patched.part.starts_with("blk.") || patched.part.front() == '[';
      BOOST_TEST(names_key);
      BOOST_TEST(message.find(patched.part) != std::string::npos);
      BOOST_TEST(message.find('\n') == std::string::npos);
    }
  }
}

}  // namespace
}  // namespace tickertape::test
