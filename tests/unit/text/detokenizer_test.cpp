// Detokenizer: however bytes are cut into tokens, the text is the same.
#include <boost/test/unit_test.hpp>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/text/bpe_tokenizer.hpp"
#include "kernels/text/utf8.hpp"

namespace tickertape::kernels::text {
namespace {

/// A tokenizer whose tokens are the given pieces.
std::shared_ptr<const Tokenizer> of_pieces(const std::vector<std::string>& pieces) {
  BpeTokenizer::Parts parts;
  for (const std::string& piece : pieces) parts.vocabulary.add(piece, TokenKind::normal);
  parts.pre_tokenizer = PreTokenizer::find("gpt-2");
  return std::make_shared<const BpeTokenizer>(std::move(parts));
}

std::string detokenize(const std::vector<std::string>& pieces) {
  Detokenizer detokenizer(of_pieces(pieces));
  std::string text;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const std::string part = detokenizer.push(static_cast<TokenId>(i));
    // What is handed out is whole characters, each time.
    for (std::size_t at = 0; at < part.size();) {
      const Utf8Unit unit = next_unit(std::string_view(part).substr(at));
      BOOST_REQUIRE((unit.kind == Utf8Unit::Kind::character));
      at += unit.size;
    }
    text += part;
  }
  detokenizer.finish();
  BOOST_TEST(!detokenizer.pending());
  return text;
}

std::string random_bytes(std::mt19937& random) {
  // Bytes that meet often in UTF-8: leads, continuations, ASCII; some that never occur.
  constexpr std::string_view kBytes =
      "ab\xc3\xa9\xe4\xbd\xa0\xf0\x9f\x98\x8a\xed\xa0\xe0\x9f\xff\xf4\x90";
  std::string text(random() % 40, ' ');
  for (char& byte : text) byte = kBytes[random() % kBytes.size()];
  return text;
}

BOOST_AUTO_TEST_SUITE(detokenizer)

BOOST_AUTO_TEST_CASE(random_cuts_give_the_text_of_the_whole) {
  std::mt19937 random(11);
  for (int round = 0; round < 3000; ++round) {
    const std::string text = random_bytes(random);
    std::vector<std::string> pieces = {""};
    for (const char byte : text) {
      if (random() % 3 == 0) pieces.emplace_back();
      pieces.back() += byte;
    }
    BOOST_TEST(detokenize(pieces) == detokenize({text}));
  }
}

BOOST_AUTO_TEST_CASE(at_most_three_bytes_are_held) {
  std::mt19937 random(12);
  for (int round = 0; round < 300; ++round) {
    const std::string text = random_bytes(random);
    // What is missing from the end of the text is less than a character.
    std::string expected;
    for (std::size_t at = 0; at < text.size();) {
      const Utf8Unit unit = next_unit(std::string_view(text).substr(at));
      if (unit.kind == Utf8Unit::Kind::unfinished) {
        BOOST_TEST(text.size() - at <= 3U);
        break;
      }
      expected += unit.kind == Utf8Unit::Kind::character ? text.substr(at, unit.size)
                                                         : std::string("\xef\xbf\xbd");
      at += unit.size;
    }
    BOOST_TEST(detokenize({text}) == expected);
  }
}

BOOST_AUTO_TEST_CASE(a_leading_space_is_kept) {
  BOOST_TEST(detokenize({" Paris", " is"}) == " Paris is");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace tickertape::kernels::text
