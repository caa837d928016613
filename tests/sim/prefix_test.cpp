// Prefix cache: requests that begin alike compute their opening once, also when all come together.
#include <boost/test/unit_test.hpp>
#include <functional>
#include <iostream>
#include <string>

#include "tests/support/ticked_engine.hpp"

namespace {

using namespace tickertape;
using namespace tickertape::test;

constexpr std::uint32_t kNumRequests = 24;
constexpr std::uint32_t kNumWords = 512;

/// The fake's tokens of a text: its bytes, from 1 on.
void append(std::vector<TokenId>& ids, const std::string& text) {
  for (const char byte : text) ids.push_back(1 + static_cast<unsigned char>(byte));
}

std::vector<TokenId> opening() {
  static const char* const kWords[] = {"answer", "with", "care", "and",
                                       "never",  "more", "than", "due"};
  std::vector<TokenId> ids;
  for (std::uint32_t i = 0; i < kNumWords; ++i) {
    append(ids, std::string(kWords[i * i % 8]) + std::to_string(i % 10) + ' ');
  }
  return ids;
}

Request question(std::uint32_t which) {
  Request request;
  request.prompt_ids = opening();
  append(request.prompt_ids, "what is " + std::to_string(which * 7919) + " in words?");
  request.max_tokens = 12;
  request.sampling.temperature = 0;
  request.sampling.seed = which;
  request.sampling.ignore_eos = true;
  return request;
}

/// `num_pages`: 0 = for all of them beside each other.
EngineOptions options_of(std::uint32_t num_pages) {
  EngineOptions options;
  options.num_kv_pages = num_pages == 0 ? 1000 : num_pages;
  options.max_num_seqs = 32;
  return options;
}

/// Asks all of them, each after so many ticks, and judges what each one found. The first has to
/// compute; returns how many more found less than nine tenths.
std::uint32_t trial(const char* name, TickedFake& fake,
                    const std::function<std::uint64_t(std::uint32_t)>& when) {
  TickedEngine& engine = *fake.engine;
  for (std::uint32_t i = 0; i < kNumRequests; ++i) engine.submit_at(when(i), question(i));
  engine.run();
  const std::size_t num_shared = opening().size();
  std::uint32_t num_missed = 0;
  std::uint64_t found = 0;
  for (std::uint32_t i = 0; i < kNumRequests; ++i) {
    const Usage& usage = engine.answer(i).finish.usage;
    if (engine.answer(i).finish.reason == FinishReason::length) {
      BOOST_TEST(fake.same_as_alone(i, question(i)), name << ": request " << i);
    }
    found += usage.cached_tokens;
    if (i > 0 && std::uint64_t{usage.cached_tokens} * 10 < num_shared * 9) ++num_missed;
  }
  const EngineStats stats = engine.stats();
  std::cout << name << ": " << found << " of " << (kNumRequests - 1) * num_shared
            << " shared tokens found, " << stats.computed_tokens << " computed in " << engine.tick()
            << " ticks\n";
  BOOST_TEST(stats.prefix_hits == found);
  BOOST_TEST(stats.preemptions == 0U);
  BOOST_TEST(fake.probe->violations() == 0U, fake.probe->first_violation());
  return num_missed;
}

BOOST_AUTO_TEST_CASE(an_opening_of_512_words_is_computed_once) {
  TickedFake together(options_of(0));
  BOOST_TEST(trial("together", together, [](std::uint32_t) { return 0; }) == 0U);
  // All run beside each other: what they share is counted once by every policy but the baseline.
  BOOST_TEST(together.engine->tick() <= opening().size() / 512 + 1 + 2 + 12);
  for (const Admission admission : {Admission::reserve, Admission::prompt_only}) {
    EngineOptions options = options_of(0);
    options.admission = admission;
    TickedFake fake(options);
    BOOST_TEST(trial("together, another policy", fake, [](std::uint32_t) { return 0; }) == 0U);
    BOOST_TEST(fake.engine->tick() == together.engine->tick());
  }
  TickedFake close(options_of(0));
  BOOST_TEST(trial("a tick apart", close, [](std::uint32_t i) { return i; }) == 0U);
  // Long after the one before has ended: its pages are kept.
  TickedFake apart(options_of(0));
  BOOST_TEST(trial("one by one", apart, [](std::uint32_t i) { return i * 40; }) == 0U);
  // Room for the opening and for very few of those who share it: what is shared never makes room.
  const auto num_pages = static_cast<std::uint32_t>(opening().size() / 16 + 14);
  TickedFake narrow(options_of(num_pages));
  BOOST_TEST(trial("in a narrow pool", narrow, [](std::uint32_t) { return 0; }) == 0U);
}

BOOST_AUTO_TEST_CASE(who_computes_the_opening_may_go_away) {
  TickedFake fake(options_of(0));
  TickedEngine& engine = *fake.engine;
  engine.on_plan = [&](const actors::Plan& plan) {
    if (plan.tick == 3) engine.cancel(0);
  };
  // The next one goes on from the pages that are there, and everybody else finds all of it.
  BOOST_TEST(trial("the first is cancelled", fake, [](std::uint32_t) { return 0; }) == 1U);
  BOOST_TEST((engine.answer(0).finish.reason == FinishReason::cancelled));
  BOOST_TEST(engine.answer(1).finish.usage.cached_tokens >= 2U * 512 - 16);
}

BOOST_AUTO_TEST_CASE(another_salt_finds_nothing) {
  TickedFake fake(options_of(0));
  TickedEngine& engine = *fake.engine;
  for (std::uint32_t i = 0; i < 4; ++i) {
    Request request = question(i);
    request.cache_salt = i % 2 == 0 ? "a" : "b";
    engine.submit_at(i * 40, request);
  }
  engine.run();
  for (std::uint32_t i = 0; i < 4; ++i) {
    BOOST_TEST((engine.answer(i).finish.usage.cached_tokens > 0) == (i >= 2));
  }
}

}  // namespace
