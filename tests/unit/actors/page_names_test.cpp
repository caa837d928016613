// PageNames against a map from contents to numbers, with hashes that collide and with whole ones.
#include "actors/page_names.hpp"

#include <rapidcheck.h>
#include <boost/test/unit_test.hpp>
#include <map>
#include <string>
#include <utility>

namespace {

using tickertape::TokenId;
using tickertape::actors::PageName;
using tickertape::actors::PageNames;

constexpr std::uint32_t kPageSize = 3;
using Tokens = std::vector<TokenId>;

/// The same tree, kept the slow way: contents as they are, references counted per name.
struct NaiveNames {
  struct Node {
    PageName parent = 0;
    Tokens tokens;
    int references = 0;
  };
  std::map<PageName, Node> nodes;
  PageName last = 0;

  PageName find_or_add(PageName parent, const Tokens& tokens) {
    for (auto& [name, node] : nodes) {
      if (node.parent != parent || node.tokens != tokens) continue;
      ++node.references;
      return name;
    }
    if (parent != 0) ++nodes.at(parent).references;
    nodes[++last] = {parent, tokens, 1};
    return last;
  }
  void drop(PageName name) {
    while (name != 0 && --nodes.at(name).references == 0) {
      name = std::exchange(nodes.extract(name).mapped().parent, 0);
    }
  }
};

/// Steps with few distinct contents, so that names are found again, dropped and made anew.
void agree(unsigned hash_bits) {
  const auto steps = *rc::gen::container<std::vector<std::pair<int, int>>>(
      rc::gen::pair(rc::gen::inRange(0, 5), rc::gen::inRange(0, 1 << 16)));
  PageNames names(kPageSize, *rc::gen::arbitrary<std::uint64_t>(), hash_bits);
  NaiveNames naive;
  std::vector<PageName> held;  // One entry per reference.
  for (const auto& [what, dice] : steps) {
    const std::size_t pick = held.empty() ? 0 : static_cast<std::size_t>(dice) % held.size();
    if (what == 0 || held.empty()) {
      const std::string salt(static_cast<std::size_t>(dice % 3), '\xff');
      held.push_back(names.root(salt));
      RC_ASSERT(held.back() == naive.find_or_add(0, Tokens(salt.begin(), salt.end())));
    } else if (what <= 2) {
      const Tokens tokens{dice >> 4 & 1, dice >> 5 & 1, -(dice >> 6 & 1)};
      const PageName parent = held[pick];
      const PageName expected = naive.find_or_add(parent, tokens);
      const bool is_known = naive.nodes.at(expected).references > 1;
      RC_ASSERT(names.find_child(parent, tokens) == (is_known ? expected : 0));
      held.push_back(names.child(parent, tokens));
      RC_ASSERT(held.back() == expected);
    } else if (what == 3) {
      names.add_reference(held[pick]);
      ++naive.nodes.at(held[pick]).references;
      held.push_back(held[pick]);
    } else {
      names.drop_reference(held[pick]);
      naive.drop(held[pick]);
      held.erase(held.begin() + static_cast<std::ptrdiff_t>(pick));
    }
    RC_ASSERT(names.size() == naive.nodes.size());
  }
  for (const PageName name : held) names.drop_reference(name);
  RC_ASSERT(names.size() == 0U);
}

BOOST_AUTO_TEST_SUITE(page_names)

BOOST_AUTO_TEST_CASE(agrees_with_a_map_of_contents) {
  for (const unsigned hash_bits : {1U, 3U, 64U}) {
    BOOST_TEST(rc::check("names are those of a map of contents", [&] { agree(hash_bits); }));
  }
}

BOOST_AUTO_TEST_CASE(the_same_tokens_elsewhere_have_another_name) {
  PageNames names(2, 7);
  const PageName plain = names.root("");
  const PageName salted = names.root("salt");
  BOOST_TEST(plain != salted);
  BOOST_TEST(names.root("") == plain);
  const Tokens tokens{1, 2};
  const PageName first = names.child(plain, tokens);
  BOOST_TEST(names.child(plain, tokens) == first);
  BOOST_TEST(names.child(salted, tokens) != first);
  BOOST_TEST(names.child(first, tokens) != first);
  // A salt that looks like a page's tokens is not that page.
  BOOST_TEST(names.root("\x01\x02") != first);
}

BOOST_AUTO_TEST_CASE(a_name_is_never_used_again_and_a_long_chain_ends_without_recursion) {
  PageNames names(1, 7);
  PageName last = names.root("");
  const PageName root = last;
  for (int i = 0; i < 1'000'000; ++i) {
    const PageName child = names.child(last, Tokens{i % 5});
    names.drop_reference(last);  // Its child holds it.
    last = child;
  }
  BOOST_TEST(names.size() == 1'000'001U);
  names.drop_reference(last);
  BOOST_TEST(names.size() == 0U);
  BOOST_TEST(names.root("") > last);
  BOOST_TEST(root == 1U);
}

BOOST_AUTO_TEST_CASE(numbers_do_not_depend_on_the_key) {
  PageNames one(1, 1);
  PageNames other(1, 0xfeedface);
  PageName in_one = one.root("a");
  PageName in_other = other.root("a");
  for (int i = 0; i < 1000; ++i) {
    in_one = one.child(in_one, Tokens{i * 7919 % 13});
    in_other = other.child(in_other, Tokens{i * 7919 % 13});
    BOOST_REQUIRE(in_one == in_other);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
