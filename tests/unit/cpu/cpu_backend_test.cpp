// CpuBackend's side of the contract with the engine.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include <tickertape/errors.hpp>

#include "tests/support/sequence_runner.hpp"
#include "tests/support/tiny_llama.hpp"

namespace {

using namespace tickertape;
using namespace tickertape::test;

/// One backend on a tiny model with pages of four tokens, and rows for it.
struct Bench {
  explicit Bench(const TinyLlama& llama = {}, unsigned num_threads = 2)
      : model(load_tiny_llama(llama)), pool(num_threads, 0) {
    BackendOptions options;
    options.page_size = 4;
    options.num_kv_pages = 64;
    options.num_host_pages = 8;
    options.max_num_seqs = 8;
    backend = model->make_backend(options, host, pool);
    clear();
  }

  void clear() {
    batch = {};
    batch.page_tables.push_back({{0}, {}});
  }
  OpenedSlot& open(SlotId slot, const std::vector<TokenId>& ids, SamplingParams sampling = {}) {
    OpenedSlot opened;
    opened.slot = slot;
    opened.sampling = std::move(sampling);
    opened.seed = slot;
    opened.prompt_length = opened.num_tokens = static_cast<std::uint32_t>(ids.size());
    opened.first_token = static_cast<std::uint32_t>(batch.opened_ids.size());
    batch.opened_ids.insert(batch.opened_ids.end(), ids.begin(), ids.end());
    return batch.opened.emplace_back(std::move(opened));
  }
  Row& add(SlotId slot, const std::vector<TokenId>& ids, const std::vector<PageId>& pages,
           std::uint32_t first_position = 0) {
    Row row;
    row.slot = slot;
    row.first_position = first_position;
    row.num_tokens = static_cast<std::uint32_t>(ids.size());
    row.first_id = static_cast<std::uint32_t>(batch.ids.size());
    row.output = RowOutput::sample;
    row.num_outputs = 1;
    row.num_logprobs = 2;
    batch.ids.insert(batch.ids.end(), ids.begin(), ids.end());
    PageTables& tables = batch.page_tables.front();
    tables.pages.insert(tables.pages.end(), pages.begin(), pages.end());
    tables.offsets.push_back(static_cast<std::uint32_t>(tables.pages.size()));
    batch.rows.push_back(row);
    return batch.rows.back();
  }
  BatchResult forward() {
    backend->forward(++ticket, batch);
    BOOST_TEST_REQUIRE((host.next() == ticket));
    BatchResult result = backend->take(ticket);
    clear();
    return result;
  }
  void take_move() {
    BOOST_TEST_REQUIRE((host.next() == ticket));
    BOOST_TEST((backend->take(ticket).status == PassStatus::ok));
  }

  std::shared_ptr<const Model> model;
  TestHost host;
  runtime::ComputePool pool;
  std::unique_ptr<Backend> backend;
  Batch batch;
  Ticket ticket = 0;
};

const std::vector<TokenId> kIds = {5, 250, 17, 99, 140, 2, 61};

SamplingParams greedy() {
  SamplingParams params;
  params.temperature = 0;
  return params;
}

BOOST_AUTO_TEST_SUITE(cpu_backend)

BOOST_AUTO_TEST_CASE(info_says_what_was_asked_for) {
  const Bench bench;
  const BackendInfo& info = bench.backend->info();
  BOOST_TEST(info.name == "cpu");
  BOOST_TEST(!info.asynchronous);
  BOOST_TEST(info.page_size == 4);
  BOOST_TEST(info.num_pages == 64);
  BOOST_TEST(info.num_host_pages == 8);
  BOOST_TEST(info.vocab_size == 300);
  BOOST_TEST(info.embedding_size == 64);
  BOOST_TEST_REQUIRE(info.groups.size() == 1);
  BOOST_TEST(info.groups[0].num_layers == 2);
  BOOST_TEST(info.groups[0].bytes_per_page == 2U * 2 * 2 * 4 * 16 * 2);
}

BOOST_AUTO_TEST_CASE(options_out_of_range_are_refused_by_name) {
  const auto model = load_tiny_llama({});
  TestHost host;
  SingleThread alone;
  const auto refused = [&](const std::string& param, auto change) {
    BackendOptions options;
    change(options);
    BOOST_CHECK_EXCEPTION(static_cast<void>(model->make_backend(options, host, alone)), Error,
                          [&](const Error& error) {
                            return error.info().code == Errc::invalid_request &&
                                   error.info().param == param;
                          });
  };
  refused("page_size", [](BackendOptions& o) { o.page_size = 0; });
  refused("page_size", [](BackendOptions& o) { o.page_size = 24; });
  refused("page_size", [](BackendOptions& o) { o.page_size = 2048; });
  refused("num_kv_pages", [](BackendOptions& o) { o.num_kv_pages = 0; });
  refused("num_kv_pages", [](BackendOptions& o) { o.num_kv_pages = 4000000000U; });
  refused("kv_cache_memory", [](BackendOptions& o) { o.kv_cache_memory = 100; });
  refused("kv_cache_memory", [](BackendOptions& o) { o.kv_cache_memory = 1ULL << 50; });
  refused("max_num_seqs", [](BackendOptions& o) { o.max_num_seqs = 0; });
  refused("max_num_batched_tokens", [](BackendOptions& o) { o.max_num_batched_tokens = 0; });
  refused("cpu_isa", [](BackendOptions& o) { o.cpu_isa = "sse9"; });
  BackendOptions options;
  options.kv_cache_memory = 10 * 4096 + 5;
  options.page_size = 16;
  BOOST_TEST(model->make_backend(options, host, alone)->info().num_pages == 10);
}

BOOST_AUTO_TEST_CASE(moved_pages_hold_what_they_held) {
  Bench bench;
  bench.open(0, kIds, greedy());
  bench.add(0, kIds, {0, 1});
  const BatchResult expected = bench.forward();

  bench.open(1, kIds, greedy());
  bench.add(1, {kIds.begin(), kIds.end() - 2}, {10, 11}).output = RowOutput::none;
  BOOST_TEST(bench.forward().tokens.empty());
  const auto moved = [](std::vector<PageMove> moves) { return moves; };
  bench.backend->swap_out(++bench.ticket, moved({{0, 10, 3}, {0, 11, 4}}));
  bench.take_move();
  bench.open(2, {9, 9, 9, 9, 9, 9, 9, 9});
  bench.add(2, {9, 9, 9, 9, 9, 9, 9, 9}, {11, 10});  // the pages now hold another sequence's
  static_cast<void>(bench.forward());
  bench.backend->swap_in(++bench.ticket, moved({{0, 3, 20}, {0, 4, 21}}));
  bench.take_move();
  bench.backend->copy_pages(++bench.ticket, moved({{0, 21, 33}}));
  bench.take_move();
  bench.add(1, {kIds.end() - 2, kIds.end()}, {20, 33}, 5);
  const BatchResult got = bench.forward();
  BOOST_TEST(got.tokens == expected.tokens);
  BOOST_TEST((got.top == expected.top));
}

/// All settings of which a choice depends on the tokens so far.
SamplingParams every_step() {
  SamplingParams params;
  params.temperature = 0.9;
  params.typical_p = 0.95;
  params.top_p = 0.95;
  params.repetition_penalty = 1.4;
  params.frequency_penalty = 0.7;
  params.presence_penalty = 0.5;
  params.logit_bias = {{3, 4}, {250, -3}};
  params.min_tokens = 4;
  return params;
}

/// Three logprobs per token of `count` tokens that follow `ids`, the last of which are in no page.
std::vector<TokenLogprob> go_on(Bench& bench, SlotId slot, std::vector<TokenId>& ids,
                                std::uint32_t num_cached, const std::vector<PageId>& pages,
                                int count) {
  std::vector<TokenLogprob> all;
  for (int i = 0; i < count; ++i) {
    bench.add(slot, {ids.begin() + num_cached, ids.end()}, pages, num_cached);
    num_cached = static_cast<std::uint32_t>(ids.size());
    const BatchResult result = bench.forward();
    BOOST_TEST_REQUIRE(result.tokens.size() == 1);
    ids.push_back(result.tokens[0]);
    all.push_back(result.logprobs[0].chosen);
    all.insert(all.end(), result.top.begin(), result.top.end());
  }
  return all;
}

BOOST_AUTO_TEST_CASE(recomputed_sequences_go_on_as_if_nothing_had_been) {
  Bench bench;
  std::vector<TokenId> ids = kIds;
  const auto open = [&](SlotId slot) {
    OpenedSlot& opened = bench.open(slot, ids, every_step());
    opened.prompt_length = static_cast<std::uint32_t>(kIds.size());
    opened.seed = 5;
    opened.suppressed = {8, 9, 10};
  };
  open(0);
  go_on(bench, 0, ids, 0, {0, 1, 2, 3, 4, 5, 6}, 2);
  std::vector<TokenId> again = ids;
  const auto expected = go_on(bench, 0, ids, 8, {0, 1, 2, 3, 4, 5, 6}, 12);
  bench.batch.closed = {0};
  std::swap(ids, again);
  open(3);
  BOOST_TEST((go_on(bench, 3, ids, 0, {10, 11, 12, 13, 14, 15, 16}, 12) == expected));
  BOOST_TEST(ids == again);
}

BOOST_AUTO_TEST_CASE(forks_share_full_pages_and_copy_the_last_bit_for_bit) {
  Bench bench;
  // Alone: each choice with pages of its own.
  std::vector<std::vector<TokenId>> expected_ids(3, kIds);
  std::vector<std::vector<TokenLogprob>> expected;
  for (std::uint32_t choice = 0; choice < 3; ++choice) {
    OpenedSlot& opened = bench.open(choice, kIds, every_step());
    opened.seed = 77;
    opened.choice = choice;
    expected.push_back(go_on(bench, choice, expected_ids[choice], 0, {30, 31, 32, 33}, 8));
    bench.batch.closed = {choice};
  }
  BOOST_TEST(expected_ids[0] != expected_ids[1]);
  // Together: the prompt but its last token once, then choice by choice on the parent's first page
  // and a copy of its second, one step each in turn.
  bench.open(0, kIds, every_step()).seed = 77;
  bench.add(0, {kIds.begin(), kIds.end() - 1}, {0, 1}).output = RowOutput::none;
  static_cast<void>(bench.forward());
  const std::vector<PageMove> copies = {{0, 1, 11}, {0, 1, 21}};
  bench.backend->copy_pages(++bench.ticket, copies);
  bench.take_move();
  const std::vector<std::vector<PageId>> pages = {{0, 1, 2, 3}, {0, 11, 12, 13}, {0, 21, 22, 23}};
  std::vector<std::vector<TokenId>> ids(3, kIds);
  std::vector<std::vector<TokenLogprob>> got(3);
  for (std::uint32_t step = 0; step < 8; ++step) {
    for (std::uint32_t choice = 0; choice < 3; ++choice) {
      if (step == 0 && choice > 0) {
        OpenedSlot& opened = bench.open(choice, kIds, every_step());
        opened.seed = 77;
        opened.choice = choice;
      }
      const auto num_cached = static_cast<std::uint32_t>(kIds.size()) - 1 + step;
      const auto part = go_on(bench, choice, ids[choice], num_cached, pages[choice], 1);
      got[choice].insert(got[choice].end(), part.begin(), part.end());
    }
  }
  for (std::size_t choice = 0; choice < 3; ++choice) {
    BOOST_TEST(ids[choice] == expected_ids[choice]);
    BOOST_TEST((got[choice] == expected[choice]));
  }
}

class Throwing final : public LogitProcessor {
 public:
  void process(const LogitContext& context, std::span<float> logits) const override {
    BOOST_TEST(logits.size() == 300);
    BOOST_TEST(context.prompt.size() == kIds.size());
    throw std::runtime_error("no opinion");
  }
};

BOOST_AUTO_TEST_CASE(a_processor_that_fails_costs_its_own_row_only) {
  Bench bench;
  bench.open(1, kIds);
  bench.add(1, kIds, {4, 5});
  const BatchResult alone = bench.forward();
  bench.open(0, kIds).processor = std::make_shared<Throwing>();
  bench.open(1, kIds);
  SamplingParams nothing;
  nothing.allowed_token_ids = {299};
  nothing.min_tokens = 1;
  bench.open(2, kIds, nothing).suppressed = {299};
  bench.add(0, kIds, {0, 1});
  bench.add(1, kIds, {4, 5});
  bench.add(2, kIds, {6, 7});
  const BatchResult result = bench.forward();
  BOOST_TEST((result.status == PassStatus::ok));
  BOOST_TEST(result.rows[0].fault == "the logit_processor failed: no opinion");
  BOOST_TEST(result.rows[0].num_tokens == 0);
  BOOST_TEST(!result.rows[0].bad_numbers);
  BOOST_TEST(result.rows[2].fault.starts_with("no token is possible"));
  BOOST_TEST(result.rows[2].num_logprobs == 0);
  BOOST_TEST(result.rows[1].fault == "");
  BOOST_TEST(result.tokens == alone.tokens);
  BOOST_TEST((result.top == alone.top));
}

BOOST_AUTO_TEST_CASE(scores_of_a_prompt_are_the_bare_models_the_sampled_ones_are_not) {
  Bench bench;
  const auto score = [&](SlotId slot, SamplingParams sampling, std::vector<PageId> pages) {
    bench.open(slot, kIds, std::move(sampling));
    Row& row = bench.add(slot, kIds, pages);
    row.output = RowOutput::all_logprobs;
    row.num_outputs = 7;
    bench.batch.ids.push_back(-1);
    return bench.forward();
  };
  const BatchResult bare = score(0, greedy(), {0, 1});
  SamplingParams biased = greedy();
  biased.logit_bias = {{bare.tokens[0], -100}};
  biased.repetition_penalty = 3;
  biased.allowed_token_ids = {bare.tokens[0], 17, 18};
  const BatchResult result = score(1, biased, {2, 3});
  BOOST_TEST_REQUIRE(result.logprobs.size() == 7);
  for (std::size_t i = 0; i < 6; ++i) {
    BOOST_TEST((result.logprobs[i].chosen == bare.logprobs[i].chosen));
  }
  BOOST_TEST((result.tokens[0] == 17 || result.tokens[0] == 18));
  BOOST_TEST(result.logprobs[6].chosen.token == result.tokens[0]);
  BOOST_TEST(result.logprobs[6].chosen.logprob > -0.7F);
  const TokenLogprob& second = result.top[result.logprobs[6].first_top + 1];
  BOOST_TEST((second.token == 17 || second.token == 18));
}

BOOST_AUTO_TEST_CASE(several_outputs_of_a_row_see_what_stands_before_each) {
  Bench bench;
  std::vector<TokenId> ids = kIds;
  const auto open = [&](SlotId slot) {
    OpenedSlot& opened = bench.open(slot, kIds, every_step());
    opened.seed = 9;
    opened.suppressed = {8, 9};
  };
  open(0);
  const auto expected = go_on(bench, 0, ids, 0, {0, 1, 2, 3}, 4);
  // The same tokens as drafts in one row: every position samples what the steps gave.
  open(1);
  bench.add(1, {ids.begin(), ids.end() - 1}, {10, 11, 12}).num_outputs = 4;
  const BatchResult result = bench.forward();
  BOOST_TEST(result.tokens == (std::vector<TokenId>{ids.end() - 4, ids.end()}));
  for (std::size_t i = 0; i < 4; ++i) {
    BOOST_TEST((result.logprobs[i].chosen == expected[3 * i]));
  }
}

/// Token 7's embedding has a NaN.
TinyLlama llama_with_a_bad_token() {
  RandomNumbers random(1);
  std::string embedding = random_tensor(kernels::formats::GgmlType::f32, 300 * 64, 1.0F, random);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::memcpy(embedding.data() + 7 * 64 * sizeof(float), &nan, sizeof nan);
  TinyLlama llama;
  llama.tied = false;
  llama.overrides["token_embd.weight"].data = std::move(embedding);
  return llama;
}

BOOST_AUTO_TEST_CASE(a_sequence_with_bad_keys_and_values_stays_alone_with_them) {
  Bench bench(llama_with_a_bad_token());
  bench.open(1, kIds, greedy());
  std::vector<TokenId> expected = kIds;
  go_on(bench, 1, expected, 0, {4, 5, 6}, 4);
  // The bad token's keys are in the pages; later tokens of the sequence read them, nobody else.
  bench.open(0, {1, 7, 2}, greedy());
  bench.add(0, {1, 7, 2}, {0}).output = RowOutput::none;
  static_cast<void>(bench.forward());
  bench.open(1, kIds, greedy());
  std::vector<TokenId> ids = kIds;
  std::uint32_t num_cached = 0;
  for (std::uint32_t step = 0; step < 4; ++step) {
    bench.add(0, {3}, {0, 1}, 3 + step);
    bench.add(1, {ids.begin() + num_cached, ids.end()}, {4, 5, 6}, num_cached);
    num_cached = static_cast<std::uint32_t>(ids.size());
    const BatchResult result = bench.forward();
    BOOST_TEST(result.rows[0].bad_numbers);
    BOOST_TEST_REQUIRE(result.tokens.size() == 1);
    ids.push_back(result.tokens[0]);
  }
  BOOST_TEST(ids == expected);
}

BOOST_AUTO_TEST_CASE(a_row_with_bad_numbers_has_no_token_and_spoils_no_other) {
  Bench bench(llama_with_a_bad_token());
  bench.open(1, kIds, greedy());
  bench.add(1, kIds, {4, 5});
  const BatchResult alone = bench.forward();
  bench.open(0, {1, 7, 2}, greedy());
  bench.open(1, kIds, greedy());
  bench.open(2, {7}, greedy());
  bench.add(0, {1, 7, 2}, {0});
  bench.add(1, kIds, {4, 5});
  Row& hidden = bench.add(2, {7}, {6});
  hidden.output = RowOutput::hidden;
  const BatchResult result = bench.forward();
  BOOST_TEST((result.status == PassStatus::ok));
  BOOST_TEST(result.rows[0].bad_numbers);
  BOOST_TEST(result.rows[0].num_tokens == 0);
  BOOST_TEST(result.rows[2].bad_numbers);
  BOOST_TEST(!result.rows[1].bad_numbers);
  BOOST_TEST(result.tokens == alone.tokens);
  BOOST_TEST((result.top == alone.top));
  // A page that a bad row wrote is clean again for the next one.
  bench.open(3, kIds, greedy());
  bench.add(3, kIds, {0, 6});
  BOOST_TEST(bench.forward().tokens == alone.tokens);
}

BOOST_AUTO_TEST_CASE(a_pass_is_abandoned_when_the_engine_ends) {
  Bench bench;
  bench.open(0, kIds);
  bench.add(0, kIds, {0, 1});
  bench.host.stop = true;
  const BatchResult result = bench.forward();
  BOOST_TEST((result.status == PassStatus::abandoned));
  BOOST_TEST(result.tokens.empty());
}

BOOST_AUTO_TEST_CASE(every_layer_shows_a_sign_of_life) {
  Bench bench;
  bench.open(0, kIds);
  bench.add(0, kIds, {0, 1});
  static_cast<void>(bench.forward());
  BOOST_TEST(bench.host.beats == 2);
}

BOOST_AUTO_TEST_CASE(scores_of_a_text_agree_with_the_choices_at_its_positions) {
  std::vector<TokenId> ids;
  RandomNumbers random(5);
  for (int i = 0; i < 70; ++i) ids.push_back(static_cast<TokenId>(random.bits() % 300));
  const std::vector<PageId> pages = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17};
  Bench bench;
  bench.open(0, ids, greedy());
  Row& all = bench.add(0, ids, pages);
  all.output = RowOutput::all_logprobs;
  all.num_outputs = 70;
  all.num_logprobs = 300;
  bench.batch.ids.push_back(-1);
  const BatchResult scores = bench.forward();
  BOOST_TEST_REQUIRE(scores.rows[0].num_logprobs == 70);
  BOOST_TEST_REQUIRE(scores.rows[0].num_tokens == 1);  // the last position's, as no id follows

  bench.open(1, ids, greedy());
  Row& samples = bench.add(1, ids, pages);
  samples.num_outputs = 70;
  const BatchResult choices = bench.forward();
  BOOST_TEST_REQUIRE(choices.tokens.size() == 70);
  BOOST_TEST(choices.tokens.back() == scores.tokens.back());
  for (std::uint32_t i = 0; i < 70; ++i) {
    const PositionLogprobs& position = scores.logprobs[i];
    BOOST_TEST_REQUIRE(position.num_top == 300);
    const TokenLogprob* top = &scores.top[position.first_top];
    BOOST_TEST(top[0].token == choices.tokens[i]);
    double sum = 0;
    for (std::uint32_t j = 0; j < 300; ++j) sum += std::exp(double{top[j].logprob});
    BOOST_TEST(std::abs(sum - 1) < 1e-5);
    const TokenId next = i + 1 < 70 ? ids[i + 1] : choices.tokens.back();
    BOOST_TEST(position.chosen.token == next);
    const auto found = std::find_if(top, top + 300,
                                    [&](const TokenLogprob& entry) { return entry.token == next; });
    BOOST_TEST(found->logprob == position.chosen.logprob);
  }
}

BOOST_AUTO_TEST_CASE(padding_of_the_vocabulary_is_never_chosen) {
  TinyLlama llama;
  llama.add = [](GgufBuilder& builder) { builder.u32("llama.vocab_size", 290); };
  Bench bench(llama);
  SamplingParams hot;
  hot.temperature = 2.0;
  std::vector<TokenId> ids(256);
  std::vector<PageId> pages;
  for (TokenId i = 0; i < 256; ++i) ids[static_cast<std::size_t>(i)] = i;
  for (PageId page = 0; page < 64; ++page) pages.push_back(page);
  bench.open(0, ids, hot);
  Row& row = bench.add(0, ids, pages);
  row.num_outputs = 256;
  row.num_logprobs = 300;
  const BatchResult result = bench.forward();
  BOOST_TEST_REQUIRE(result.tokens.size() == 256);
  for (const TokenId token : result.tokens) BOOST_TEST(token < 290);
  for (const TokenLogprob& entry : result.top) BOOST_TEST(entry.token < 290);
  BOOST_TEST(result.logprobs.front().num_top == 290);
}

BOOST_AUTO_TEST_CASE(masked_rows_choose_among_the_allowed) {
  Bench bench;
  bench.open(0, kIds);
  bench.add(0, kIds, {0, 1}).mask = 0;
  bench.batch.masks.push_back({0, 0, 1ULL << 3, 0, 0});
  BOOST_TEST(bench.forward().tokens == (std::vector<TokenId>{131}));
}

BOOST_AUTO_TEST_CASE(backends_of_a_model_share_its_weights_and_not_their_pages) {
  const auto model = load_tiny_llama({});
  const std::vector<Prompt> prompts = {{kIds, 4, greedy(), 0}};
  SequenceRunner first(*model, {}, {});
  SequenceRunner second(*model, {}, {});
  const auto expected = first.run(prompts);
  BOOST_TEST((second.run(prompts) == expected));
  BOOST_TEST((first.run(prompts) == expected));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
