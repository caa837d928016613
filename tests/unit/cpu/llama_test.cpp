// Llama files that must be refused, each with the name of what is wrong.
#include "kernels/models/llama.hpp"

#include <boost/test/unit_test.hpp>
#include <functional>
#include <string>

#include <tickertape/errors.hpp>

#include "tests/support/tiny_llama.hpp"

namespace {

using namespace tickertape;
using namespace tickertape::test;
using kernels::formats::GgmlType;

std::string refusal_of_llama(const std::function<void(TinyLlama&)>& change) {
  TinyLlama llama;
  change(llama);
  try {
    static_cast<void>(load_tiny_llama(llama));
  } catch (const Error& error) {
    BOOST_TEST((error.info().code == Errc::invalid_model));
    return error.what();
  }
  return "accepted";
}

void check_refused(const std::function<void(TinyLlama&)>& change, const std::string& part) {
  const std::string message = refusal_of_llama(change);
  BOOST_TEST(message.find(part) != std::string::npos, "\"" << message << "\" lacks " << part);
}

std::function<void(TinyLlama&)> adding(std::function<void(GgufBuilder&)> add) {
  return [add = std::move(add)](TinyLlama& llama) { llama.add = add; };
}

BOOST_AUTO_TEST_SUITE(llama)

BOOST_AUTO_TEST_CASE(a_whole_file_is_accepted_and_described) {
  TinyLlama llama;
  llama.type = GgmlType::q8_0;
  const auto model = load_tiny_llama(llama);
  const ModelInfo& info = model->info();
  BOOST_TEST(info.architecture == "llama");
  BOOST_TEST(info.vocab_size == 300);
  BOOST_TEST(info.max_model_len == 1024);
  BOOST_TEST(info.num_layers == 2);
  BOOST_TEST(info.embedding_size == 64);
  BOOST_TEST(info.num_heads == 4);
  BOOST_TEST(info.num_kv_heads == 2);
  BOOST_TEST(info.head_size == 16);
  BOOST_TEST(info.weight_bytes > 0);
  BOOST_TEST((model->tokenizer() == nullptr));
  BOOST_TEST((model->chat_template() == nullptr));
}

BOOST_AUTO_TEST_CASE(missing_keys_and_tensors_are_named) {
  for (const char* name :
       {"llama.block_count", "llama.context_length", "llama.embedding_length",
        "llama.feed_forward_length", "llama.attention.head_count",
        "llama.attention.layer_norm_rms_epsilon", "token_embd.weight", "output_norm.weight",
        "blk.1.attn_q.weight", "blk.0.ffn_norm.weight", "blk.1.ffn_down.weight"}) {
    check_refused([&](TinyLlama& llama) { llama.without.insert(name); }, name);
  }
  BOOST_TEST(refusal_of_llama([](TinyLlama& llama) {
               llama.without.insert("llama.attention.head_count_kv");
               llama.num_kv_heads = 4;
             }) == "accepted");
}

BOOST_AUTO_TEST_CASE(wrong_shapes_and_types_are_named_with_what_is_needed) {
  const auto with_shape = [](const char* name, std::vector<std::uint64_t> dims) {
    return [=](TinyLlama& llama) { llama.overrides[name].dims = dims; };
  };
  check_refused(with_shape("blk.0.attn_k.weight", {64, 64}),
                "blk.0.attn_k.weight has shape [64, 64]; [64, 32] is needed");
  check_refused(with_shape("blk.1.ffn_norm.weight", {32}),
                "blk.1.ffn_norm.weight has shape [32]; [64] is needed");
  check_refused(with_shape("blk.1.ffn_down.weight", {96, 64, 2}), "blk.1.ffn_down.weight");
  check_refused(with_shape("token_embd.weight", {32, 300}), "token_embd.weight");
  const auto with_type = [](const char* name, GgmlType type) {
    return [=](TinyLlama& llama) { llama.overrides[name].type = type; };
  };
  check_refused(with_type("blk.0.ffn_up.weight", GgmlType::q5_1), "Q5_1");
  check_refused(with_type("blk.0.attn_q.weight", GgmlType::i32), "I32");
  check_refused(with_type("output_norm.weight", GgmlType::f16), "output_norm.weight has type F16");
}

BOOST_AUTO_TEST_CASE(what_is_not_computed_is_refused_by_name) {
  check_refused([](TinyLlama& llama) { llama.architecture = "mamba"; }, "\"mamba\"");
  check_refused(adding([](GgufBuilder& b) { b.string("llama.rope.scaling.type", "yarn"); }),
                "\"yarn\"");
  check_refused(adding([](GgufBuilder& b) { b.string("llama.rope.scaling.type", "linear"); }),
                "llama.rope.scaling.factor");
  check_refused(adding([](GgufBuilder& b) { b.u32("llama.expert_count", 8); }), "expert_count");
  check_refused(adding([](GgufBuilder& b) { b.u32("llama.attention.sliding_window", 64); }),
                "sliding_window is 64");
  check_refused(adding([](GgufBuilder& b) { b.u32("llama.attention.value_length", 24); }),
                "value_length is 24");
  check_refused(adding([](GgufBuilder& b) { b.u32("llama.rope.dimension_count", 32); }),
                "rope.dimension_count is 32");
  const std::string bias(64 * sizeof(float), 0);
  check_refused(adding([&](GgufBuilder& b) { b.tensor("blk.0.attn_q.bias", 0, {64}, bias); }),
                "blk.0.attn_q.bias");
}

BOOST_AUTO_TEST_CASE(sizes_that_do_not_fit_together_are_refused) {
  check_refused([](TinyLlama& llama) { llama.num_kv_heads = 3; }, "head_count_kv is 3");
  check_refused([](TinyLlama& llama) { llama.width = 48; }, "embedding_length is 48");
  check_refused([](TinyLlama& llama) { llama.num_heads = llama.num_kv_heads = 16; },
                "multiple of 8");
  check_refused(adding([](GgufBuilder& b) { b.u32("llama.vocab_size", 301); }),
                "vocab_size is 301");
}

BOOST_AUTO_TEST_CASE(position_scaling_and_factors_are_computed) {
  const auto spec_of = [](std::function<void(GgufBuilder&)> add) {
    TinyLlama llama;
    llama.add = std::move(add);
    const TempFile file(tiny_llama_bytes(llama));
    return kernels::models::read_llama_spec(kernels::formats::GgufFile::open(file.path()));
  };
  const auto linear = spec_of([](GgufBuilder& b) {
    b.string("llama.rope.scaling.type", "linear").f32("llama.rope.scaling.factor", 4.0F);
  });
  BOOST_TEST(linear.rope.position_scale == 0.25);
  std::string factors;
  for (int i = 1; i <= 8; ++i) append_bytes(factors, static_cast<float>(i));
  const auto divided =
      spec_of([&](GgufBuilder& b) { b.tensor("rope_freqs.weight", 0, {8}, factors); });
  BOOST_TEST(divided.rope.factors == (std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
