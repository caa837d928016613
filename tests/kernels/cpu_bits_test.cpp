// "Same tokens": a sequence's bits do not depend on batch, chunk, pages or threads.
#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "kernels/cpu/isa.hpp"
#include "tests/support/sequence_runner.hpp"
#include "tests/support/tiny_llama.hpp"
#include "tests/unit/text/golden.hpp"

namespace {

using namespace tickertape;
using namespace tickertape::test;
using kernels::formats::GgmlType;

bool missing(const std::string& isa) {
  return isa == "avx2" && !kernels::cpu::is_available(kernels::cpu::CpuIsa::avx2);
}

/// Lengths on both sides of pages, key blocks and slices; greedy and sampled.
std::vector<Prompt> random_prompts(std::uint32_t longest, std::uint32_t vocab_size) {
  RandomNumbers random(7);
  std::vector<Prompt> prompts;
  for (const std::uint32_t length : {1U, 5U, 16U, 31U, 33U, 64U, longest / 2, longest}) {
    Prompt prompt;
    for (std::uint32_t i = 0; i < length; ++i) {
      prompt.ids.push_back(static_cast<TokenId>(random.bits() % vocab_size));
    }
    prompt.sampling.temperature = prompts.size() % 2 == 0 ? 0.0 : 1.0;
    prompt.seed = prompts.size();
    if (prompts.size() % 3 == 1) {
      prompt.sampling.repetition_penalty = 1.2;
      prompt.sampling.frequency_penalty = 0.3;
      prompt.sampling.logit_bias = {{static_cast<TokenId>(length), 3.0F}};
      prompt.sampling.typical_p = 0.95;
    }
    prompts.push_back(std::move(prompt));
  }
  return prompts;
}

/// Each differs from the first run in several ways.
std::vector<RunConfig> configs(bool long_ones) {
  std::vector<RunConfig> configs = {{16, 2, 16, 3, 512}, {7, 1, 4, 5, 64}, {64, 3, 64, 0, 100}};
  if (long_ones) {
    configs.push_back({512, 2, 1, 9, 1024});
    configs.push_back({65, 2, 32, 9, 13});
  }
  return configs;
}

void check_bits(const Model& model, const BackendOptions& options,
                const std::vector<Prompt>& prompts, bool long_ones) {
  const std::vector<Transcript> expected = SequenceRunner(model, options, {}).run_alone(prompts);
  for (const Transcript& transcript : expected) {
    BOOST_TEST_REQUIRE(transcript.tokens.size() == prompts.front().num_new);
  }
  for (const RunConfig& config : configs(long_ones)) {
    BOOST_TEST_CONTEXT("chunk " << config.chunk << ", threads " << config.num_threads
                                << ", page size " << config.page_size) {
      const auto got = SequenceRunner(model, options, config).run(prompts);
      for (std::size_t i = 0; i < prompts.size(); ++i) {
        BOOST_TEST((got[i] == expected[i]), "sequence " << i << " differs");
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE(cpu_bits)

BOOST_AUTO_TEST_CASE(every_weight_type_on_every_path_gives_the_same_bits) {
  for (const GgmlType type : {GgmlType::f32, GgmlType::f16, GgmlType::bf16, GgmlType::q8_0,
                              GgmlType::q4_0, GgmlType::q4_1}) {
    TinyLlama llama;
    llama.type = type;
    const auto model = load_tiny_llama(llama);
    for (const std::string isa : {"reference", "scalar", "avx2"}) {
      if (missing(isa)) continue;
      BOOST_TEST_CONTEXT(kernels::formats::traits(type).name << " on " << isa) {
        BackendOptions options;
        options.cpu_isa = isa;
        check_bits(*model, options, random_prompts(100, llama.vocab_size), false);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(prompts_longer_than_a_slice_give_the_same_bits_with_every_kv_type) {
  TinyLlama llama;
  llama.type = GgmlType::q4_1;
  llama.tied = false;
  const auto model = load_tiny_llama(llama);
  for (const KvCacheType type : {KvCacheType::f16, KvCacheType::f32, KvCacheType::bf16}) {
    BackendOptions options;
    options.kv_cache_type = type;
    check_bits(*model, options, random_prompts(700, llama.vocab_size), true);
  }
}

BOOST_AUTO_TEST_CASE(avx2_has_the_bits_of_the_scalar_oracle) {
  if (missing("avx2")) return;
  for (const GgmlType type : {GgmlType::f32, GgmlType::f16, GgmlType::bf16, GgmlType::q8_0,
                              GgmlType::q4_0, GgmlType::q4_1}) {
    TinyLlama llama;
    llama.type = type;
    const auto model = load_tiny_llama(llama);
    const auto prompts = random_prompts(100, llama.vocab_size);
    for (const KvCacheType kv : {KvCacheType::f16, KvCacheType::f32, KvCacheType::bf16}) {
      BackendOptions scalar;
      scalar.cpu_isa = "scalar";
      scalar.kv_cache_type = kv;
      BackendOptions avx2 = scalar;
      avx2.cpu_isa = "avx2";
      const auto expected = SequenceRunner(*model, scalar, {}).run(prompts);
      const auto got = SequenceRunner(*model, avx2, {}).run(prompts);
      BOOST_TEST((got == expected), kernels::formats::traits(type).name << " differs");
    }
  }
}

BOOST_AUTO_TEST_CASE(the_real_model_gives_the_same_bits_alone_and_together) {
  static_cast<void>(smollm2_file());
  const auto model = load_model(TICKERTAPE_MODELS "/SmolLM2-135M-Instruct.Q4_1.gguf");
  std::vector<Prompt> prompts;
  for (const char* list : {"chat", "raw"}) {
    for (const auto& entry : smollm2_golden().at(list)) {
      if (prompts.size() == 8) break;
      Prompt prompt;
      prompt.ids = entry.at("ids").get<std::vector<TokenId>>();
      prompt.sampling.temperature = prompts.size() % 2 == 0 ? 0.0 : 0.8;
      prompt.seed = prompts.size();
      prompts.push_back(std::move(prompt));
    }
  }
  for (const KvCacheType kv : {KvCacheType::f16, KvCacheType::f32}) {
    BackendOptions options;
    options.kv_cache_type = kv;
    check_bits(*model, options, prompts, false);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
