// BpeMerges: the order of merges, against the definition, and its cost.
#include "kernels/text/bpe_merges.hpp"

#include <boost/test/unit_test.hpp>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace tickertape::kernels::text {
namespace {

using Pair = std::pair<TokenId, TokenId>;

/// Random merges over four letters, and the same applied one by one as the definition says.
struct Model {
  BpeMerges merges;
  std::map<Pair, std::pair<std::uint32_t, TokenId>> by_pair;

  explicit Model(std::mt19937& random) {
    merges.reserve(40);
    TokenId next = 256;
    for (int byte = 0; byte < 256; ++byte) {
      merges.set_byte(static_cast<unsigned char>(byte), static_cast<TokenId>(byte));
    }
    const auto pick = [&] {
      const auto at = static_cast<TokenId>(random() % static_cast<unsigned>(4 + next - 256));
      return at < 4 ? 'a' + at : 256 + at - 4;
    };
    for (std::uint32_t rank = 0; rank < 40; ++rank) {
      const Pair pair(pick(), pick());
      merges.add(pair.first, pair.second, next, rank);
      by_pair.emplace(pair, std::pair(rank, next));
      ++next;
    }
  }

  [[nodiscard]] std::vector<TokenId> one_by_one(const std::string& word) const {
    std::vector<TokenId> ids(word.begin(), word.end());
    while (true) {
      auto best = by_pair.end();
      std::size_t place = 0;
      for (std::size_t i = 0; i + 1 < ids.size(); ++i) {
        const auto at = by_pair.find({ids[i], ids[i + 1]});
        if (at == by_pair.end()) continue;
        if (best == by_pair.end() || at->second.first < best->second.first) {
          best = at;
          place = i;
        }
      }
      if (best == by_pair.end()) return ids;
      ids[place] = best->second.second;
      ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(place) + 1);
    }
  }
};

BOOST_AUTO_TEST_SUITE(bpe_merges)

BOOST_AUTO_TEST_CASE(merges_as_the_definition_does) {
  std::mt19937 random(3);
  BpeMerges::Scratch scratch;
  for (int round = 0; round < 2000; ++round) {
    const Model model(random);
    std::string word(random() % 30, 'a');
    for (char& letter : word) letter = static_cast<char>('a' + random() % 4);
    std::vector<TokenId> ids;
    model.merges.merge(word, scratch, ids);
    BOOST_TEST(ids == model.one_by_one(word), boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(the_first_of_equal_pairs_keeps_its_rank) {
  BpeMerges merges;
  merges.reserve(3);
  for (const char letter : {'a', 'b', 'c'}) {
    merges.set_byte(static_cast<unsigned char>(letter), letter);
  }
  merges.add('a', 'b', 300, 0);
  merges.add('b', 'c', 301, 1);
  merges.add('a', 'b', 302, 2);
  BpeMerges::Scratch scratch;
  std::vector<TokenId> ids;
  merges.merge("abc", scratch, ids);
  BOOST_TEST((ids == std::vector<TokenId>{300, 'c'}));
}

BOOST_AUTO_TEST_CASE(bytes_without_a_token_are_left_out) {
  BpeMerges merges;
  merges.reserve(1);
  merges.set_byte('a', 1);
  merges.set_byte('a', 2);
  BpeMerges::Scratch scratch;
  std::vector<TokenId> ids;
  merges.merge("xaxx", scratch, ids);
  merges.merge("", scratch, ids);
  merges.merge("x", scratch, ids);
  BOOST_TEST((ids == std::vector<TokenId>{1}));
}

// A megabyte without a border, the worst case for merging: each byte and each merge looks at no
// more than two pairs.
BOOST_AUTO_TEST_CASE(the_work_is_linear_in_the_length) {
  BpeMerges merges;
  merges.reserve(20);
  merges.set_byte('a', 0);
  for (TokenId id = 0; id < 20; ++id) merges.add(id, id, id + 1, static_cast<std::uint32_t>(id));
  BpeMerges::Scratch scratch;
  std::vector<TokenId> ids;
  const std::size_t size = std::size_t{1} << 20;
  merges.merge(std::string(size, 'a'), scratch, ids);
  BOOST_TEST((ids == std::vector<TokenId>{20}));
  BOOST_TEST(scratch.num_candidates() <= 3 * size);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace tickertape::kernels::text
