// The paged fake as a backend: what a well-behaved host gets from it.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <memory>
#include <random>
#include <set>
#include <stdexcept>

#include <tickertape/errors.hpp>
#include <tickertape/fake.hpp>

#include "tests/unit/fake/pass_driver.hpp"

using namespace tickertape;
using test::PassDriver;
using test::Sequence;

namespace {

struct World {
  explicit World(PagedFakeOptions in_options = {}) : options(std::move(in_options)) {
    options.probe = probe;
    options.end_probability = 0;
  }
  [[nodiscard]] std::vector<TokenId> expected(const Sequence& sequence, std::uint32_t count) const {
    return paged_fake_expected(std::span(sequence.tokens).first(sequence.prompt_length),
                               sequence.params, sequence.seed, sequence.choice, count, options);
  }
  void check_clean() const {
    BOOST_TEST(probe->violations() == 0U);
    BOOST_TEST(probe->first_violation() == "");
  }

  std::shared_ptr<PagedFakeProbe> probe = std::make_shared<PagedFakeProbe>();
  PagedFakeOptions options;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(paged_fake)

BOOST_AUTO_TEST_CASE(tokens_are_the_expected_ones_however_they_are_batched) {
  World world;
  PassDriver driver(*make_paged_fake_model(world.options));
  Sequence first(0, {5, 6, 7, 8, 9, 10, 11}, {3, 9, 1, 20, 21});
  Sequence second(5, {5, 6, 7}, {2, 4, 30, 31});
  second.params.temperature = 0;
  // A prompt in three chunks, beside a sequence that decodes.
  driver.add(second);
  driver.add(first, 2);
  driver.run();
  driver.add(first, 4);
  driver.add(second);
  driver.run();
  for (int i = 0; i < 9; ++i) {
    driver.add(first);
    driver.add(second);
    driver.run();
  }
  BOOST_TEST(first.generated() == world.expected(first, 9));
  BOOST_TEST(second.generated() == world.expected(second, 11));
  BOOST_TEST(world.probe->forwards == 11U);
  BOOST_TEST(world.probe->tokens == 7U + 3U + 8U + 10U);
  BOOST_TEST(world.probe->samples == 20U);
  BOOST_TEST(driver.host.beats == 11);
  world.check_clean();
}

BOOST_AUTO_TEST_CASE(tokens_depend_on_seed_and_choice_only_with_a_temperature) {
  const PagedFakeOptions options;
  const std::vector<TokenId> prompt{1, 2, 3};
  SamplingParams params;
  params.ignore_eos = true;
  std::set<std::vector<TokenId>> sampled;
  for (const std::uint64_t seed : {1U, 2U}) {
    for (const std::uint32_t choice : {0U, 1U}) {
      sampled.insert(paged_fake_expected(prompt, params, seed, choice, 20, options));
    }
  }
  BOOST_TEST(sampled.size() == 4U);
  params.temperature = 0;
  BOOST_TEST(paged_fake_expected(prompt, params, 1, 0, 20, options) ==
             paged_fake_expected(prompt, params, 2, 1, 20, options));
}

BOOST_AUTO_TEST_CASE(the_end_token_comes_as_often_as_told) {
  PagedFakeOptions options;
  const std::vector<TokenId> prompt{1};
  SamplingParams params;
  params.ignore_eos = true;
  const auto tokens = paged_fake_expected(prompt, params, 1, 0, 64000, options);
  const auto ends = std::count(tokens.begin(), tokens.end(), 0);
  // A thousand are expected; five standard deviations are 157.
  BOOST_TEST(ends > 843);
  BOOST_TEST(ends < 1157);
  params.ignore_eos = false;
  const auto ended = paged_fake_expected(prompt, params, 1, 0, 64000, options);
  BOOST_TEST(ended.back() == 0);
  BOOST_TEST(std::count(ended.begin(), ended.end(), 0) == 1);
  BOOST_TEST(std::equal(ended.begin(), ended.end(), tokens.begin()));
  options.end_probability = 1;
  BOOST_TEST(paged_fake_expected(prompt, params, 1, 0, 5, options) == (std::vector<TokenId>{0}));
}

BOOST_AUTO_TEST_CASE(last_token_of_needs_no_host) {
  World world;
  PassDriver driver(*make_paged_fake_model(world.options));
  Sequence sequence(1, {7, 8, 9}, {5, 6, 7});
  driver.add(sequence);
  driver.run();
  for (int i = 0; i < 5; ++i) {
    driver.add_last_token(sequence);
    driver.run();
  }
  BOOST_TEST(sequence.generated() == world.expected(sequence, 6));
  world.check_clean();
}

BOOST_AUTO_TEST_CASE(preemption_by_recompute_changes_nothing) {
  World world;
  PassDriver driver(*make_paged_fake_model(world.options));
  Sequence sequence(1, {7, 8, 9}, {5, 6, 7});
  driver.generate(sequence, 4);
  driver.batch.closed = {1};
  sequence.opened = false;
  sequence.slot = 2;
  sequence.num_cached = 0;
  sequence.pages = {40, 41, 42, 43};
  driver.generate(sequence, 8);
  BOOST_TEST(sequence.generated() == world.expected(sequence, 8));
  world.check_clean();
}

BOOST_AUTO_TEST_CASE(preemption_by_swap_changes_nothing) {
  World world;
  PassDriver driver(*make_paged_fake_model(world.options));
  Sequence victim(1, {7, 8, 9}, {5, 6, 7});
  Sequence other(2, {1, 2, 3, 4, 5, 6, 7}, {5, 6, 7});
  driver.generate(victim, 4);
  const std::vector<PageMove> out{{0, 5, 0}, {0, 6, 1}};
  driver.backend().swap_out(driver.next_ticket(), out);
  BOOST_TEST((driver.backend().take(driver.host.next().value()).status == PassStatus::ok));
  driver.batch.closed = {1};
  driver.generate(other, 4);
  const std::vector<PageMove> in{{0, 0, 30}, {0, 1, 31}};
  driver.backend().swap_in(driver.next_ticket(), in);
  BOOST_TEST((driver.backend().take(driver.host.next().value()).status == PassStatus::ok));
  victim.opened = false;
  victim.pages = {30, 31, 32, 33};
  driver.generate(victim, 10);
  BOOST_TEST(victim.generated() == world.expected(victim, 10));
  BOOST_TEST(other.generated() == world.expected(other, 4));
  BOOST_TEST(world.probe->swapped_out_pages == 2U);
  BOOST_TEST(world.probe->swapped_in_pages == 2U);
  world.check_clean();
}

BOOST_AUTO_TEST_CASE(forks_share_pages_until_one_is_copied) {
  World world;
  PassDriver driver(*make_paged_fake_model(world.options));
  Sequence parent(1, {7, 8, 9, 10, 11, 12}, {5, 6, 7});
  driver.add(parent, 5);
  driver.run();
  // The fork shares page 5; of page 6 it has a copy.
  const std::vector<PageMove> copy{{0, 6, 9}};
  driver.backend().copy_pages(driver.next_ticket(), copy);
  BOOST_TEST((driver.backend().take(driver.host.next().value()).status == PassStatus::ok));
  Sequence fork(2, parent.tokens, {5, 9, 10});
  fork.choice = 1;
  fork.num_cached = 5;
  for (int i = 0; i < 5; ++i) {
    driver.add(parent);
    driver.add(fork);
    driver.run();
  }
  BOOST_TEST(parent.generated() == world.expected(parent, 5));
  BOOST_TEST(fork.generated() == world.expected(fork, 5));
  BOOST_TEST(parent.generated() != fork.generated());
  BOOST_TEST(world.probe->copied_pages == 1U);
  world.check_clean();
}

BOOST_AUTO_TEST_CASE(passes_take_virtual_time_one_after_the_other) {
  PagedFakeOptions options;
  options.pass_ns = 1000;
  options.token_ns = 10;
  World world(options);
  PassDriver driver(*make_paged_fake_model(world.options));
  BOOST_TEST(driver.backend().info().asynchronous);
  Sequence sequence(1, {7, 8, 9}, {5, 6, 7});
  driver.add(sequence);
  const Ticket pass = driver.submit();
  const std::vector<PageMove> copy{{0, 5, 20}};
  driver.backend().copy_pages(100, copy);
  driver.backend().forward(101, Batch{{}, {}, std::vector<PageTables>(1), {}, {}, {}, {}});
  BOOST_TEST(driver.host.next().value() == pass);
  BOOST_TEST(driver.host.now() == 1030);
  BOOST_TEST(driver.host.next().value() == 100U);
  BOOST_TEST(driver.host.now() == 1030);
  BOOST_TEST(driver.host.next().value() == 101U);
  BOOST_TEST(driver.host.now() == 2030);
  BOOST_TEST(driver.backend().take(101).rows.empty());
  BOOST_TEST((driver.backend().take(100).status == PassStatus::ok));
  driver.finish(pass);
  BOOST_TEST(sequence.generated() == world.expected(sequence, 1));
  world.check_clean();
}

BOOST_AUTO_TEST_CASE(told_passes_fail_and_can_be_repeated) {
  PagedFakeOptions options;
  options.fail_at = {1};
  World world(options);
  PassDriver driver(*make_paged_fake_model(world.options));
  Sequence sequence(1, {7, 8, 9}, {5, 6, 7});
  driver.generate(sequence, 1);
  driver.add(sequence);
  const BatchResult failed = driver.run();
  BOOST_TEST((failed.status == PassStatus::failed));
  BOOST_TEST(failed.fault == "pass 1 was told to fail");
  BOOST_TEST(failed.rows.empty());
  driver.generate(sequence, 5);
  BOOST_TEST(sequence.generated() == world.expected(sequence, 5));
  world.check_clean();
}

BOOST_AUTO_TEST_CASE(stop_abandons_a_pass) {
  World world;
  PassDriver driver(*make_paged_fake_model(world.options));
  Sequence sequence(1, {7, 8, 9}, {5, 6, 7});
  driver.host.stop = true;
  driver.add(sequence);
  BOOST_TEST((driver.run().status == PassStatus::abandoned));
}

BOOST_AUTO_TEST_CASE(bad_rows_have_no_tokens_and_good_ones_do) {
  PagedFakeOptions options;
  options.nan_probability = 0.5;
  World world(options);
  PassDriver driver(*make_paged_fake_model(world.options));
  int bad = 0;
  for (TokenId id = 1; id <= 60; ++id) {
    Sequence one(0, {id}, {5});
    Sequence two(1, {id, id}, {6});
    driver.add(one).num_logprobs = 1;
    driver.add(two).num_logprobs = 1;
    const BatchResult result = driver.run();
    for (const Sequence* sequence : {&one, &two}) {
      const RowResult& row = result.rows[sequence->slot];
      const auto expected = world.expected(*sequence, 1);
      BOOST_TEST(row.bad_numbers == expected.empty());
      BOOST_TEST(sequence->generated() == expected);
      BOOST_TEST(row.num_logprobs == expected.size());
      bad += row.bad_numbers ? 1 : 0;
    }
  }
  BOOST_TEST(bad > 20);
  BOOST_TEST(bad < 100);
}

BOOST_AUTO_TEST_CASE(logprobs_are_finite_sorted_and_repeatable) {
  World world;
  PassDriver driver(*make_paged_fake_model(world.options));
  Sequence sequence(1, {7, 8, 9}, {5, 6, 7});
  sequence.params.temperature = 0;
  driver.add(sequence).num_logprobs = 4;
  const BatchResult result = driver.run();
  BOOST_REQUIRE(result.logprobs.size() == 1U);
  BOOST_REQUIRE(result.top.size() == 4U);
  BOOST_TEST((result.logprobs[0].chosen == result.top[0]));
  BOOST_TEST(result.logprobs[0].chosen.token == sequence.generated()[0]);
  const std::vector<TokenId> history{7, 8, 9};
  for (std::size_t i = 0; i < 4; ++i) {
    BOOST_TEST(result.top[i].logprob ==
               paged_fake_logprob(history, result.top[i].token, world.options));
    if (i > 0) BOOST_TEST(result.top[i].logprob < result.top[i - 1].logprob);
  }
}

BOOST_AUTO_TEST_CASE(all_logprobs_give_the_following_token_at_each_position) {
  World world;
  PassDriver driver(*make_paged_fake_model(world.options));
  Sequence sequence(1, {7, 8, 9, 10}, {5, 6, 7});
  Row& row = driver.add(sequence);
  row.output = RowOutput::all_logprobs;
  row.num_outputs = 3;
  row.num_logprobs = 2;
  driver.batch.ids.push_back(-1);
  const BatchResult result = driver.run();
  BOOST_REQUIRE(result.rows[0].num_logprobs == 3U);
  BOOST_TEST(result.rows[0].num_tokens == 1U);
  for (std::uint32_t i = 0; i < 3; ++i) {
    const TokenLogprob& chosen = result.logprobs[i].chosen;
    const std::span history = std::span(sequence.tokens).first(2 + i);
    BOOST_TEST(chosen.token == sequence.tokens[2 + i]);
    BOOST_TEST(chosen.logprob == paged_fake_logprob(history, chosen.token, world.options));
    BOOST_TEST(result.logprobs[i].num_top == 2U);
    BOOST_TEST(result.logprobs[i].first_top == 2 * i);
  }
  BOOST_TEST(sequence.generated() == world.expected(sequence, 1));
  world.check_clean();
}

BOOST_AUTO_TEST_CASE(hidden_states_depend_on_the_history) {
  World world;
  PassDriver driver(*make_paged_fake_model(world.options));
  Sequence one(1, {7, 8, 9}, {5});
  Sequence two(2, {7, 8, 10}, {6});
  for (Sequence* sequence : {&one, &two}) {
    Row& row = driver.add(*sequence);
    row.output = RowOutput::hidden;
    row.num_outputs = 2;
  }
  const BatchResult result = driver.run();
  const std::size_t size = world.options.embedding_size;
  BOOST_REQUIRE(result.hidden.size() == 4 * size);
  BOOST_TEST(result.rows[1].first_hidden == 2 * size);
  const auto part = [&](std::size_t i) {
    return std::vector<float>(result.hidden.begin() + i * size,
                              result.hidden.begin() + (i + 1) * size);
  };
  BOOST_TEST(part(0) == part(2));
  BOOST_TEST(part(1) != part(3));
  for (const float value : result.hidden) BOOST_TEST(std::abs(value) <= 1);
}

BOOST_AUTO_TEST_CASE(masks_are_obeyed) {
  World world;
  PassDriver driver(*make_paged_fake_model(world.options));
  Sequence sequence(1, {7, 8, 9}, {5, 6, 7});
  std::vector<std::uint64_t> mask(16, 0);
  mask[2] = 1ULL << 3;
  driver.add(sequence).mask = 0;
  driver.batch.masks = {mask};
  driver.run();
  BOOST_TEST(sequence.generated() == (std::vector<TokenId>{131}));
  world.check_clean();
}

BOOST_AUTO_TEST_CASE(no_end_before_min_tokens) {
  World world;
  world.options.vocab_size = 5;  // Ends would come soon.
  PassDriver driver(*make_paged_fake_model(world.options));
  Sequence sequence(1, {1, 2, 3}, {5, 6, 7, 8, 9});
  sequence.params.min_tokens = 12;
  sequence.params.stop_token_ids = {3, 4};
  sequence.suppressed = {3, 4, 0};
  driver.generate(sequence, 4);
  // Opened again in the middle.
  driver.batch.closed = {1};
  sequence.opened = false;
  sequence.num_cached = 0;
  driver.generate(sequence, 16);
  const auto generated = sequence.generated();
  const std::vector<TokenId> expected = world.expected(sequence, 16);
  BOOST_TEST(expected.size() >= 13U);
  BOOST_TEST(std::equal(expected.begin(), expected.end(), generated.begin()));
  for (std::size_t i = 0; i < 12; ++i) BOOST_TEST((generated[i] == 1 || generated[i] == 2));
  BOOST_TEST((expected.size() == 16U || expected.back() == 3 || expected.back() == 4));
  sequence.suppressed = {0, 1, 2, 3, 4};
  sequence.params.min_tokens = 100;
  sequence.opened = false;
  driver.add(sequence);
  const BatchResult none = driver.run();
  BOOST_TEST(none.rows[0].fault.starts_with("no token is possible"));
  BOOST_TEST(none.tokens.empty());
}

/// Gives the token after the likely one; fails after `limit` tokens.
class NextToken final : public LogitProcessor {
 public:
  explicit NextToken(std::size_t limit) : limit_(limit) {}
  void process(const LogitContext& context, std::span<float> logits) const override {
    if (context.generated.size() == limit_) throw std::runtime_error("enough");
    const auto best = std::max_element(logits.begin(), logits.end()) - logits.begin();
    logits[(static_cast<std::size_t>(best) + 1) % logits.size()] = 1;
  }

 private:
  std::size_t limit_;
};

BOOST_AUTO_TEST_CASE(a_processor_chooses_and_its_failure_is_its_own) {
  World world;
  PassDriver driver(*make_paged_fake_model(world.options));
  Sequence processed(1, {7, 8, 9}, {5, 6, 7});
  processed.processor = std::make_shared<NextToken>(3);
  Sequence plain(2, {7, 8, 9}, {15, 16, 17});
  for (int i = 0; i < 4; ++i) {
    driver.add(processed);
    driver.add(plain);
    const BatchResult result = driver.run();
    BOOST_TEST(result.rows[0].fault == (i < 3 ? "" : "the logit_processor failed: enough"));
    BOOST_TEST(result.rows[0].num_tokens == (i < 3 ? 1U : 0U));
    BOOST_TEST(result.rows[1].fault == "");
  }
  BOOST_TEST(plain.generated() == world.expected(plain, 4));
  BOOST_TEST(processed.generated().size() == 3U);
  BOOST_TEST(processed.generated()[0] == (plain.generated()[0] + 1) % 1000);
  world.check_clean();
}

BOOST_AUTO_TEST_CASE(settings_without_sense_are_refused) {
  const auto refused = [](const char* param) {
    return [param](const Error& error) { return error.info().param == param; };
  };
  PagedFakeOptions options;
  options.vocab_size = 1;
  BOOST_CHECK_EXCEPTION(static_cast<void>(make_paged_fake_model(options)), Error,
                        refused("vocab_size"));
  const auto model = make_paged_fake_model();
  test::TestHost host;
  SingleThread parallel;
  BackendOptions backend;
  backend.page_size = 12;
  BOOST_CHECK_EXCEPTION(static_cast<void>(model->make_backend(backend, host, parallel)), Error,
                        refused("page_size"));
  backend.page_size = 16;
  backend.kv_cache_memory = 16383;
  BOOST_CHECK_EXCEPTION(static_cast<void>(model->make_backend(backend, host, parallel)), Error,
                        refused("kv_cache_memory"));
  backend.kv_cache_memory = 10 * 16384;
  BOOST_TEST(model->make_backend(backend, host, parallel)->info().num_pages == 10U);
  BOOST_TEST(!model->make_backend(backend, host, parallel)->info().asynchronous);
}

BOOST_AUTO_TEST_SUITE_END()
