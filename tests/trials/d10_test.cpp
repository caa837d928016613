// D10: turning ids back into text neither loses nor adds a byte.
#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <random>
#include <string>
#include <vector>

#include "kernels/text/utf8.hpp"
#include "tests/unit/text/golden.hpp"

namespace tickertape {
namespace {

using test::smollm2_tokenizer;

/// What a reader of a stream has after the ids.
std::string streamed(const std::vector<TokenId>& ids) {
  Detokenizer detokenizer(smollm2_tokenizer());
  std::string text;
  for (const TokenId id : ids) text += detokenizer.push(id);
  detokenizer.finish();
  return text;
}

/// The same by the rule's definition, over the whole text at once.
std::string shown(const std::vector<TokenId>& ids) {
  using Kind = kernels::text::Utf8Unit::Kind;
  std::string bytes;
  for (const TokenId id : ids) {
    if (!smollm2_tokenizer()->is_control(id)) bytes += smollm2_tokenizer()->bytes(id);
  }
  std::string text;
  for (std::size_t at = 0; at < bytes.size();) {
    const auto unit = kernels::text::next_unit(std::string_view(bytes).substr(at));
    if (unit.kind == Kind::character) text += bytes.substr(at, unit.size);
    if (unit.kind == Kind::broken) text += "\xef\xbf\xbd";
    at += unit.size;
  }
  return text;
}

BOOST_AUTO_TEST_SUITE(d10)

BOOST_AUTO_TEST_CASE(golden_texts_come_back) {
  for (const auto& golden : test::smollm2_texts()) {
    for (const bool parse_special : {false, true}) {
      const auto ids = smollm2_tokenizer()->encode(golden.text, parse_special);
      BOOST_TEST(smollm2_tokenizer()->decode(ids) == golden.text);
      if (!parse_special) BOOST_TEST(streamed(ids) == golden.text);
    }
  }
}

BOOST_AUTO_TEST_CASE(runs_of_spaces_come_back) {
  for (std::size_t count = 1; count <= 4096; count *= 2) {
    const std::string text = std::string(count, ' ') + "X";
    const auto ids = smollm2_tokenizer()->encode(text, false);
    BOOST_TEST(smollm2_tokenizer()->decode(ids) == text);
    BOOST_TEST(streamed(ids) == text);
  }
}

BOOST_AUTO_TEST_CASE(every_id_decodes_to_its_bytes) {
  const auto size = static_cast<TokenId>(smollm2_tokenizer()->vocab_size());
  BOOST_TEST(size == 49152);
  std::size_t control = 0;
  for (TokenId id = 0; id < size; ++id) {
    const std::vector<TokenId> one = {id};
    const std::string text = smollm2_tokenizer()->decode(one);
    BOOST_TEST_CONTEXT("id " << id) {
      BOOST_TEST(!text.empty());
      BOOST_TEST(text.size() <= smollm2_tokenizer()->longest_token());
      BOOST_TEST(streamed(one) == shown(one));
      control += smollm2_tokenizer()->is_control(id) ? 1 : 0;
    }
  }
  BOOST_TEST(control == 17U);
}

BOOST_AUTO_TEST_CASE(random_ids_stream_to_what_the_whole_shows) {
  std::mt19937 random(7);
  const auto size = static_cast<std::uint32_t>(smollm2_tokenizer()->vocab_size());
  for (int round = 0; round < 300; ++round) {
    std::vector<TokenId> ids(random() % 200);
    for (TokenId& id : ids) {
      // Half of them from the single bytes, where characters break.
      id = static_cast<TokenId>(random() % (random() % 2 == 0 ? 260U : size));
    }
    BOOST_TEST(streamed(ids) == shown(ids));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace tickertape
