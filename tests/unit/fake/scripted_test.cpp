// The scripted model: what it says, when, and how it fails when told to.
#include <boost/test/unit_test.hpp>
#include <cmath>

#include <tickertape/scripted.hpp>

#include "tests/unit/fake/pass_driver.hpp"

using namespace tickertape;
using test::PassDriver;
using test::Sequence;

namespace {

constexpr TokenId kEnd = 257;
constexpr TokenId kFirstPiece = 258;

std::vector<TokenId> ids_of(std::string_view text) {
  std::vector<TokenId> ids;
  for (const char c : text) ids.push_back(static_cast<std::uint8_t>(c));
  return ids;
}

struct Stage {
  explicit Stage(const std::string& json) {
    Script script = parse_script(json);
    script.probe = probe;
    model = make_scripted_model(std::move(script));
    driver = std::make_unique<PassDriver>(*model);
  }

  [[nodiscard]] std::string say(std::string_view prompt, std::size_t count,
                                std::uint32_t choice = 0) {
    Sequence sequence(0, ids_of(prompt), {0, 1});
    sequence.choice = choice;
    driver->generate(sequence, count);
    return model->tokenizer()->decode(sequence.generated());
  }

  std::shared_ptr<ScriptedProbe> probe = std::make_shared<ScriptedProbe>();
  std::shared_ptr<const Model> model;
  std::unique_ptr<PassDriver> driver;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(scripted)

BOOST_AUTO_TEST_CASE(the_first_rule_that_matches_answers) {
  Stage stage(R"({"rules": [{"match": "rain", "text": "wet"}, {"match": "sun", "text": "dry"}],
                  "default": {"text": "who knows"}})");
  BOOST_TEST(stage.say("will it rain or will the sun shine", 3) == "wet");
  BOOST_TEST(stage.say("the sun", 3) == "dry");
  BOOST_TEST(stage.say("fog", 9) == "who knows");
  BOOST_TEST(stage.probe->forwards == 15U);
  BOOST_TEST(stage.probe->samples == 15U);
}

BOOST_AUTO_TEST_CASE(an_answer_ends_repeats_or_goes_on) {
  Stage stage(R"({"rules": [{"match": "end", "text": "xy"},
                            {"match": "more", "text": "xy", "end": false},
                            {"match": "repeat", "text": "xy", "repeat": true},
                            {"match": "nothing", "repeat": true}]})");
  BOOST_TEST(stage.say("end", 5) == "xy<|end|>aa");
  BOOST_TEST(stage.say("more", 5) == "xyaaa");
  BOOST_TEST(stage.say("repeat", 5) == "xyxyx");
  BOOST_TEST(stage.say("nothing", 2) == "aa");
  BOOST_TEST(stage.say("default", 2) == "<|end|>a");
}

BOOST_AUTO_TEST_CASE(choices_may_differ) {
  Stage stage(R"({"rules": [{"choice": 1, "text": "one"}], "default": {"text": "other"}})");
  BOOST_TEST(stage.say("p", 3, 0) == "oth");
  BOOST_TEST(stage.say("p", 3, 1) == "one");
}

BOOST_AUTO_TEST_CASE(pieces_are_tokens_of_any_bytes) {
  Stage stage(R"({"pieces": [{"hex": "F09F"}, {"hex": "9880"}, {"text": "a long piece"}],
                  "default": {"pieces": [0, 1, 2]}})");
  BOOST_TEST(stage.say("p", 3) ==
             "\xF0\x9F\x98\x80"
             "a long piece");
  const auto tokenizer = stage.model->tokenizer();
  BOOST_TEST(tokenizer->vocab_size() == 261U);
  BOOST_TEST(stage.model->info().vocab_size == 261U);
  BOOST_TEST(stage.driver->backend().info().vocab_size == 261U);
  BOOST_TEST(tokenizer->bytes(kFirstPiece) == "\xF0\x9F");
  BOOST_TEST(!tokenizer->is_control(kFirstPiece));
  BOOST_TEST(tokenizer->is_control(kEnd));
  BOOST_TEST(tokenizer->longest_token() == 12U);
  for (const TokenId id : tokenizer->encode("a long piece", true)) BOOST_TEST(id < kFirstPiece);
}

BOOST_AUTO_TEST_CASE(preemption_does_not_change_what_is_said) {
  Stage stage(R"({"default": {"text": "hello"}})");
  Sequence sequence(0, ids_of("prompt"), {0, 1});
  stage.driver->generate(sequence, 2);
  sequence.slot = 3;
  sequence.opened = false;
  sequence.num_cached = 0;
  stage.driver->generate(sequence, 5);
  BOOST_TEST(stage.model->tokenizer()->decode(sequence.generated()) == "hello");
}

BOOST_AUTO_TEST_CASE(passes_take_their_time) {
  Stage stage(R"({"tick_ms": 10, "prefill_ms_per_token": 2, "default": {"text": "hello"}})");
  BOOST_TEST(stage.driver->backend().info().asynchronous);
  Sequence sequence(0, ids_of("abcdef"), {0, 1});
  stage.driver->add(sequence, 4);
  stage.driver->run();
  BOOST_TEST(stage.driver->host.now() == 18'000'000);
  stage.driver->add(sequence);
  stage.driver->run();
  BOOST_TEST(stage.driver->host.now() == 32'000'000);
  stage.driver->add(sequence);
  const Ticket ticket = stage.driver->submit();
  stage.driver->backend().swap_out(90, {});
  BOOST_TEST(stage.driver->host.next().value() == ticket);
  BOOST_TEST(stage.driver->host.now() == 42'000'000);
  BOOST_TEST(stage.driver->host.next().value() == 90U);
  BOOST_TEST(stage.driver->host.now() == 42'000'000);
}

BOOST_AUTO_TEST_CASE(bad_numbers_hit_one_row) {
  Stage stage(R"({"rules": [{"match": "bad", "text": "xyz", "nan_at": 1}],
                  "default": {"text": "fine"}})");
  Sequence bad(0, ids_of("bad"), {0});
  Sequence good(1, ids_of("good"), {1});
  for (int i = 0; i < 2; ++i) {
    stage.driver->add(bad);
    stage.driver->add(good).num_logprobs = 0;
    const BatchResult result = stage.driver->run();
    BOOST_TEST((result.status == PassStatus::ok));
    BOOST_TEST(result.rows[0].bad_numbers == (i == 1));
    BOOST_TEST(result.rows[0].num_tokens == (i == 1 ? 0U : 1U));
    BOOST_TEST(result.rows[1].num_tokens == 1U);
    BOOST_TEST(result.rows[1].num_logprobs == 1U);
  }
  BOOST_TEST(stage.model->tokenizer()->decode(good.generated()) == "fi");
}

BOOST_AUTO_TEST_CASE(faults_hit_the_whole_pass) {
  Stage stage(R"({"rules": [{"match": "bad", "text": "xyz", "fault_at": 1}],
                  "default": {"text": "fine"}})");
  Sequence bad(0, ids_of("bad"), {0});
  Sequence good(1, ids_of("good"), {1});
  stage.driver->add(bad);
  stage.driver->add(good);
  BOOST_TEST((stage.driver->run().status == PassStatus::ok));
  stage.driver->add(bad);
  stage.driver->add(good);
  const BatchResult failed = stage.driver->run();
  BOOST_TEST((failed.status == PassStatus::failed));
  BOOST_TEST(failed.fault == "the script says so");
  BOOST_TEST(failed.rows.empty());
  BOOST_TEST(failed.tokens.empty());
  stage.driver->add(good);
  stage.driver->run();
  BOOST_TEST(stage.model->tokenizer()->decode(good.generated()) == "fi");
}

BOOST_AUTO_TEST_CASE(a_blocked_pass_waits_for_its_release) {
  Stage stage(R"({"default": {"text": "xyz", "block_at": 1}})");
  Sequence sequence(0, ids_of("p"), {0});
  stage.probe->release();  // None is blocked yet: no effect.
  stage.driver->generate(sequence, 1);
  stage.driver->add(sequence);
  const Ticket ticket = stage.driver->submit();
  stage.driver->backend().copy_pages(91, {});
  stage.probe->wait_until_blocked();
  BOOST_TEST(stage.probe->num_blocked() == 1U);
  BOOST_TEST(!stage.driver->host.next().has_value());
  stage.probe->release();
  BOOST_TEST(stage.driver->host.wait() == ticket);
  BOOST_TEST(stage.driver->host.wait() == 91U);
  BOOST_TEST((stage.driver->backend().take(91).status == PassStatus::ok));
  stage.driver->finish(ticket);
  stage.driver->generate(sequence, 3);
  BOOST_TEST(stage.model->tokenizer()->decode(sequence.generated()) == "xyz");
}

BOOST_AUTO_TEST_CASE(passes_can_be_blocked_again) {
  Stage stage(R"({"default": {"text": "xyz", "block_at": 0}})");
  for (SlotId slot = 0; slot < 3; ++slot) {
    Sequence sequence(slot, ids_of("p"), {slot});
    stage.driver->add(sequence);
    const Ticket ticket = stage.driver->submit();
    BOOST_TEST(stage.probe->num_blocked() == slot + 1);
    stage.probe->release();
    BOOST_TEST(stage.driver->host.wait() == ticket);
    stage.driver->finish(ticket);
    BOOST_TEST(sequence.generated() == (std::vector<TokenId>{'x'}));
  }
}

BOOST_AUTO_TEST_CASE(a_stop_ends_a_blocked_pass) {
  Stage stage(R"({"default": {"text": "xyz", "block_at": 0}})");
  Sequence sequence(0, ids_of("p"), {0});
  stage.driver->add(sequence);
  const Ticket ticket = stage.driver->submit();
  stage.driver->host.stop = true;
  BOOST_TEST(stage.driver->host.wait() == ticket);
  BOOST_TEST((stage.driver->finish(ticket).status == PassStatus::abandoned));
}

BOOST_AUTO_TEST_CASE(a_backend_may_die_while_a_pass_is_blocked) {
  Stage stage(R"({"default": {"text": "xyz", "block_at": 0}})");
  Sequence sequence(0, ids_of("p"), {0});
  stage.driver->add(sequence);
  stage.driver->submit();
  stage.driver.reset();
  stage.probe->release();
  BOOST_TEST(stage.probe->num_blocked() == 1U);
}

BOOST_AUTO_TEST_CASE(logprobs_are_given_or_nine_tenths) {
  Stage stage(R"({"default": {"text": "xyz", "logprobs": [-2.5]}})");
  Sequence sequence(0, ids_of("p"), {0});
  for (const float expected : {-2.5F, std::log(0.9F)}) {
    stage.driver->add(sequence).num_logprobs = 3;
    const BatchResult result = stage.driver->run();
    BOOST_REQUIRE(result.logprobs.size() == 1U);
    BOOST_REQUIRE(result.top.size() == 3U);
    BOOST_TEST(result.logprobs[0].chosen.token == sequence.generated().back());
    BOOST_TEST(std::abs(result.logprobs[0].chosen.logprob - expected) < 1e-6F);
    BOOST_TEST((result.top[0] == result.logprobs[0].chosen));
    for (std::size_t i = 1; i < 3; ++i) {
      BOOST_TEST(result.top[i].logprob < result.top[i - 1].logprob);
    }
  }
}

BOOST_AUTO_TEST_CASE(prompt_logprobs_name_the_following_tokens) {
  Stage stage(R"({"default": {"text": "xyz"}})");
  Sequence sequence(0, ids_of("pq"), {0});
  Row& row = stage.driver->add(sequence);
  row.output = RowOutput::all_logprobs;
  row.num_outputs = 2;
  stage.driver->batch.ids.push_back(-1);
  const BatchResult result = stage.driver->run();
  BOOST_REQUIRE(result.rows[0].num_logprobs == 2U);
  BOOST_TEST(result.logprobs[0].chosen.token == 'q');
  BOOST_TEST(result.logprobs[1].chosen.token == 'x');
  BOOST_TEST(sequence.generated() == (std::vector<TokenId>{'x'}));
}

BOOST_AUTO_TEST_CASE(hidden_states_have_the_told_width) {
  Stage stage(R"({})");
  Sequence sequence(0, ids_of("pq"), {0});
  Row& row = stage.driver->add(sequence);
  row.output = RowOutput::hidden;
  const BatchResult result = stage.driver->run();
  BOOST_TEST(result.hidden.size() == stage.driver->backend().info().embedding_size);
  BOOST_TEST(result.tokens.empty());
}

BOOST_AUTO_TEST_CASE(the_model_stands_without_a_file) {
  const auto model = make_scripted_model(Script{});
  BOOST_TEST(model->info().max_model_len == 2048U);
  BOOST_REQUIRE(model->chat_template() != nullptr);
  const std::vector<ChatMessage> messages{{"user", "hi"}};
  BOOST_TEST(!model->chat_template()->render(messages, {}).empty());
}

BOOST_AUTO_TEST_CASE(a_base_model_lends_what_it_has) {
  Script script;
  script.pieces = {"piece"};
  script.max_model_len = 77;
  const auto base = make_scripted_model(script);
  script.fallback.text = "x";
  script.max_model_len = 0;
  const auto model = make_scripted_model(script, base);
  BOOST_TEST(model->info().max_model_len == 77U);
  BOOST_TEST(model->tokenizer()->vocab_size() == 260U);
  BOOST_TEST(model->chat_template() == base->chat_template());
}

BOOST_AUTO_TEST_SUITE_END()
