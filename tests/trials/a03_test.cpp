// A03: the last running request outgrows the pool. It ends alone, with `length`; others go on.
#include <boost/test/unit_test.hpp>
#include <deque>

#include "tests/support/engine_fixture.hpp"

namespace {

using namespace tickertape;
using namespace tickertape::test;

Request endless(std::uint32_t which) {
  Request request;
  for (std::uint32_t i = 0; i < 100; ++i) {
    request.prompt_ids.push_back(static_cast<TokenId>(1 + (which + i) % 200));
  }
  request.max_tokens = 2000;
  request.sampling.temperature = 0;
  request.sampling.seed = 1;
  request.sampling.ignore_eos = true;
  return request;
}

void trial(std::size_t at_once) {
  FakeEngine fake(tiny_options(), 0);
  asio::io_context io;
  std::deque<Answer> answers(at_once);
  for (std::uint32_t i = 0; i < at_once; ++i) {
    asio::co_spawn(io, ask(*fake.engine, endless(i), answers[i]), rethrow);
  }
  io.run();
  for (std::uint32_t i = 0; i < at_once; ++i) {
    // 24 pages of 16 tokens hold 384: that is the context, and where it ends.
    BOOST_TEST((answers[i].finish.reason == FinishReason::length));
    BOOST_TEST(answers[i].ids.size() == 284U);
    Request clipped = endless(i);
    clipped.max_tokens = 284;
    BOOST_TEST(answers[i].ids == fake.expected(clipped), boost::test_tools::per_element());
  }
  const EngineStats stats = idle_stats(*fake.engine);
  BOOST_TEST(stats.pages_held == 0U);
  BOOST_TEST(stats.preemptions <= 3 * at_once);
  BOOST_TEST(fake.probe->violations() == 0U);
  BOOST_TEST(ask_alone(*fake.engine, varied_request(4, 3)).ids.size() == 3U);
}

BOOST_AUTO_TEST_CASE(a03_one_alone) {
  trial(1);
}
BOOST_AUTO_TEST_CASE(a03_two_at_once) {
  trial(2);
}
BOOST_AUTO_TEST_CASE(a03_eight_at_once) {
  trial(8);
}

}  // namespace
