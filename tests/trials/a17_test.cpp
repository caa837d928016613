// A17: no request vanishes. A mix of everything for a while; each one ends, exactly once, and the
// engine's books agree.
//
// With --long after "--": until two minutes have passed.
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <numeric>
#include <random>
#include <vector>

#include "tests/support/engine_fixture.hpp"
#include "tests/support/long_form.hpp"

namespace tickertape::test {
namespace {

constexpr unsigned kClients = 8;
constexpr std::uint64_t kRequestsPerClient = 60;
constexpr auto kLongTime = std::chrono::minutes(2);

enum class Mood : std::uint8_t { patient, cancels, drops, hurries };

/// What one client sends, all from its seed.
struct Wish {
  explicit Wish(std::mt19937& random) {
    const std::size_t length = 1 + random() % 300;
    for (std::size_t i = 0; i < length; ++i) {
      request.prompt_ids.push_back(static_cast<TokenId>(1 + random() % 900));
    }
    request.n = 1 + random() % 3;
    request.max_tokens = 1 + random() % 60;
    request.window = random() % 4 == 0 ? 1 + random() % 8 : 64;
    request.sampling.seed = random();
    request.sampling.temperature = random() % 2 == 0 ? 0.0 : 1.0;
    request.sampling.ignore_eos = random() % 2 == 0;
    batches = random() % 2 == 0;
    if (random() % 5 == 0) {
      mood = static_cast<Mood>(1 + random() % 3);
      patience = random() % 20;
      if (mood == Mood::hurries) request.deadline_ms = static_cast<double>(random() % 50) / 10;
    }
  }
  Request request;
  bool batches = false;  ///< Reads all that is ready, not one token at a time.
  Mood mood = Mood::patient;
  std::uint64_t patience = 0;  ///< Tokens until it changes its mind.
};

struct Book {
  std::uint64_t sent = 0;
  std::uint64_t choices = 0;
  std::uint64_t ended = 0;
  std::uint64_t dropped = 0;
  std::vector<std::string> troubles;

  void trouble(std::string what) {
    if (troubles.size() < 5) troubles.push_back(std::move(what));
  }
};

/// The choices' tokens against what each would be alone.
void check(const FakeEngine& fake, const Wish& wish, const Finish& finish,
           const std::vector<std::vector<TokenId>>& tokens, Book& book) {
  const Request& request = wish.request;
  if (finish.reason == FinishReason::none) book.trouble("an end without a reason");
  if (finish.choices.size() != request.n) book.trouble("not every choice has an end");
  for (std::uint32_t choice = 0; choice < finish.choices.size(); ++choice) {
    const ChoiceFinish& ended = finish.choices[choice];
    std::vector<TokenId> expected =
        paged_fake_expected(request.prompt_ids, request.sampling, *request.sampling.seed, choice,
                            request.max_tokens, fake.fake);
    const bool fits = tokens[choice].size() <= expected.size();
    expected.resize(std::min(expected.size(), tokens[choice].size()));
    if (!fits || tokens[choice] != expected) book.trouble("a choice has other tokens than alone");
    if (ended.completion_tokens != tokens[choice].size()) book.trouble("a token was lost");
    const bool by_itself =
        ended.reason == FinishReason::stop || ended.reason == FinishReason::length;
    const bool asked_for =
        (wish.mood == Mood::cancels && ended.reason == FinishReason::cancelled) ||
        (wish.mood == Mood::hurries && ended.reason == FinishReason::deadline);
    if (!by_itself && !asked_for) {
      book.trouble("ended as " + std::string(to_string(ended.reason)) + ": " + ended.error.message);
    }
  }
}

asio::awaitable<void> ask_one(const FakeEngine& fake, Wish wish, Book& book) {
  ++book.sent;
  book.choices += wish.request.n;
  TokenStream stream = co_await fake.engine->async_submit(wish.request, asio::use_awaitable);
  std::vector<std::vector<TokenId>> tokens(wish.request.n);
  std::uint64_t count = 0;
  for (;;) {
    std::vector<Token> got;
    if (wish.batches) {
      got = co_await stream.async_next_batch(asio::use_awaitable);
    } else if (auto token = co_await stream.async_next(asio::use_awaitable)) {
      got.push_back(std::move(*token));
    }
    if (got.empty()) break;
    for (const Token& token : got) {
      if (token.seq != tokens[token.index].size()) book.trouble("a gap in a choice");
      tokens[token.index].push_back(token.id);
    }
    count += got.size();
    if (wish.mood == Mood::cancels && count >= wish.patience) stream.cancel();
    if (wish.mood == Mood::drops && count >= wish.patience) {
      ++book.dropped;
      co_return;
    }
  }
  ++book.ended;
  check(fake, wish, stream.finish(), tokens, book);
  if (co_await stream.async_next(asio::use_awaitable)) book.trouble("a token after the end");
}

asio::awaitable<void> be_a_client(const FakeEngine& fake, unsigned which, Book& book) {
  const auto until = std::chrono::steady_clock::now() + kLongTime;
  const bool goes_on = is_long_form();
  std::mt19937 random(which);
  for (std::uint64_t i = 0;
       goes_on ? std::chrono::steady_clock::now() < until : i < kRequestsPerClient; ++i) {
    Wish wish(random);
    co_await ask_one(fake, std::move(wish), book);
  }
}

BOOST_AUTO_TEST_CASE(a17_every_request_of_a_mixed_load_ends_once) {
  const FakeEngine fake(tiny_options(), 20'000);
  asio::io_context io(1);
  Book book;
  for (unsigned i = 0; i < kClients; ++i) {
    asio::co_spawn(io, be_a_client(fake, i, book), rethrow);
  }
  io.run();
  for (const std::string& trouble : book.troubles) BOOST_ERROR(trouble);
  BOOST_TEST(book.ended + book.dropped == book.sent);
  BOOST_TEST(book.dropped > 0U);
  const EngineStats stats = idle_stats(*fake.engine);
  BOOST_TEST(stats.submitted == book.choices);
  BOOST_TEST(stats.refused == 0U);
  BOOST_TEST(std::accumulate(stats.finished.begin(), stats.finished.end(), std::uint64_t{0}) ==
             book.choices);
  BOOST_TEST(stats.num_running + stats.num_waiting + stats.pages_held == 0U);
  BOOST_TEST(stats.preemptions > 0U);
  BOOST_TEST(fake.probe->violations() == 0U, fake.probe->first_violation());
}

}  // namespace
}  // namespace tickertape::test
