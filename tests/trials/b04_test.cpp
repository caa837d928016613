// B04: a stream never holds a part of a character, and never holds back for good.
#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/text/load.hpp"

namespace tickertape {
namespace {

const std::string kReplacement = "\xef\xbf\xbd";

/// Pushes the bytes of each piece, one token a byte, and gives what came out after each piece.
std::vector<std::string> push_pieces(Detokenizer& detokenizer,
                                     const std::vector<std::string>& pieces) {
  std::vector<std::string> texts;
  for (const std::string& piece : pieces) {
    std::string text;
    for (const char byte : piece) text += detokenizer.push(static_cast<unsigned char>(byte));
    texts.push_back(text);
  }
  return texts;
}

struct Bytes {
  Detokenizer detokenizer{kernels::text::make_byte_tokenizer()};
  std::vector<std::string> push(const std::vector<std::string>& pieces) {
    return push_pieces(detokenizer, pieces);
  }
};

using Texts = std::vector<std::string>;

BOOST_FIXTURE_TEST_SUITE(b04, Bytes)

BOOST_AUTO_TEST_CASE(an_emoji_in_two_pieces) {
  BOOST_TEST((push({"\xf0\x9f", "\x98\x8a", "!"}) == Texts{"", "\xf0\x9f\x98\x8a", "!"}));
  BOOST_TEST(!detokenizer.pending());
}

BOOST_AUTO_TEST_CASE(a_chinese_character_in_two_pieces) {
  BOOST_TEST((push({"\xe4\xbd"}) == Texts{""}));
  BOOST_TEST(detokenizer.pending());
  BOOST_TEST((push({"\xa0"}) == Texts{"\xe4\xbd\xa0"}));
}

BOOST_AUTO_TEST_CASE(a_lone_continuation_byte_does_not_hold_the_stream) {
  BOOST_TEST((push({"\x80", "A"}) == Texts{kReplacement, "A"}));
}

BOOST_AUTO_TEST_CASE(bytes_that_begin_nothing_are_replaced_at_once) {
  for (const char* byte : {"\xc0", "\xc1", "\xf5", "\xfe", "\xff"}) {
    BOOST_TEST((push({byte}) == Texts{kReplacement}));
    BOOST_TEST(!detokenizer.pending());
  }
}

BOOST_AUTO_TEST_CASE(a_broken_character_is_replaced_once_and_what_follows_kept) {
  BOOST_TEST((push({"\xf0\x9f\x98", "A"}) == Texts{"", kReplacement + "A"}));
  BOOST_TEST((push({"\xe4", "\xe4\xbd\xa0"}) == Texts{"", kReplacement + "\xe4\xbd\xa0"}));
  // Surrogates and values past U+10FFFF are broken from their second byte on.
  BOOST_TEST((push({"\xed", "\xa0"}) == Texts{"", kReplacement + kReplacement}));
  BOOST_TEST((push({"\xf4", "\x90"}) == Texts{"", kReplacement + kReplacement}));
}

BOOST_AUTO_TEST_CASE(an_unfinished_tail_is_dropped_at_the_end) {
  BOOST_TEST((push({"ok", "\xf0\x9f\x98"}) == Texts{"ok", ""}));
  BOOST_TEST(detokenizer.pending());
  detokenizer.finish();
  BOOST_TEST(!detokenizer.pending());
}

BOOST_AUTO_TEST_CASE(control_tokens_show_nothing_and_break_no_character) {
  BOOST_TEST((push({"\xe4\xbd"}) == Texts{""}));
  BOOST_TEST(detokenizer.push(257).empty());
  BOOST_TEST((push({"\xa0"}) == Texts{"\xe4\xbd\xa0"}));
}

BOOST_AUTO_TEST_CASE(every_split_of_an_emoji) {
  const std::string emoji = "\xf0\x9f\x98\x8a";
  for (unsigned cuts = 0; cuts < 8; ++cuts) {
    std::vector<std::string> pieces = {""};
    for (std::size_t i = 0; i < emoji.size(); ++i) {
      pieces.back() += emoji[i];
      if ((cuts >> i & 1) != 0) pieces.emplace_back();
    }
    std::string whole;
    for (const std::string& text : push(pieces)) whole += text;
    BOOST_TEST(whole == emoji);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace tickertape
