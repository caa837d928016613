// The byte alphabet: all bytes there and back.
#include "kernels/text/byte_alphabet.hpp"

#include <boost/test/unit_test.hpp>
#include <string>

namespace tickertape::kernels::text {
namespace {

BOOST_AUTO_TEST_SUITE(byte_alphabet)

BOOST_AUTO_TEST_CASE(every_byte_comes_back) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  BOOST_TEST((bytes_from_alphabet(bytes_to_alphabet(all)) == all));
}

BOOST_AUTO_TEST_CASE(known_characters) {
  BOOST_TEST(bytes_to_alphabet(" \n") == "\xc4\xa0\xc4\x8a");
  BOOST_TEST(bytes_to_alphabet("~!\xa1\xff") == "~!\xc2\xa1\xc3\xbf");
  // The last of the shifted ones is the soft hyphen.
  BOOST_TEST(bytes_to_alphabet("\xad") == "\xc5\x83");
}

BOOST_AUTO_TEST_CASE(other_characters_are_refused) {
  for (const char* written : {" ", "\xc5\x84", "\xe6\x9d\xb1", "\xff", "\xc4", "\x7f"}) {
    BOOST_TEST(!bytes_from_alphabet(written).has_value());
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace tickertape::kernels::text
