// KvPool against a naive model, and its edges.
#include <boost/test/unit_test.hpp>
#include <map>
#include <random>
#include <set>

#include <tickertape/kv_pool.hpp>

namespace {

using tickertape::kNoPage;
using tickertape::KvPool;
using tickertape::KvPoolOptions;
using tickertape::PageCopy;
using tickertape::PageId;
using tickertape::SequenceId;

/// The same book, kept the slow way: tables only.
class NaivePool {
 public:
  explicit NaivePool(KvPoolOptions options) : options_(options) {}
  std::set<PageId> held() const {
    std::set<PageId> pages;
    for (const auto& [owner, table] : tables) pages.insert(table.begin(), table.end());
    pages.erase(kNoPage);
    return pages;
  }
  std::size_t num_free() const { return options_.num_pages - held().size(); }
  std::size_t wanted(std::uint32_t tokens) const {
    return (tokens + options_.page_size - 1) / options_.page_size;
  }
  std::size_t references(PageId page) const {
    std::size_t count = 0;
    for (const auto& [owner, table] : tables) count += std::count(table.begin(), table.end(), page);
    return count;
  }
  /// Pages of the table's beginning that were given back.
  std::size_t first(SequenceId owner) const {
    const auto& table = tables.at(owner);
    return static_cast<std::size_t>(std::count(table.begin(), table.end(), kNoPage));
  }
  std::map<SequenceId, std::vector<PageId>> tables;

 private:
  KvPoolOptions options_;
};

void take_over(NaivePool& naive, const KvPool& pool, SequenceId owner) {
  const auto pages = pool.pages(owner);
  if (pages.empty()) {
    naive.tables.erase(owner);
  } else {
    naive.tables[owner].assign(pages.begin(), pages.end());
  }
}

void random_step(KvPool& pool, NaivePool& naive, std::mt19937& dice) {
  const SequenceId owner = dice() % 8;
  const auto tokens = static_cast<std::uint32_t>(1 + dice() % 60);
  const std::size_t have = naive.tables.contains(owner) ? naive.tables[owner].size() : 0;
  switch (dice() % 6) {
    case 0: {
      const std::size_t wanted = std::max(naive.wanted(tokens), have);
      const bool fits = wanted - have <= naive.num_free();
      BOOST_TEST(pool.grow(owner, tokens) == fits);
      BOOST_TEST(pool.pages(owner).size() == (fits ? wanted : have));
      break;
    }
    case 1: {
      const std::size_t before = naive.num_free();
      naive.tables.erase(owner);
      BOOST_TEST(pool.release(owner) == naive.num_free() - before);
      break;
    }
    case 2: {
      const SequenceId child = 8 + dice() % 4;
      if (have == 0 || naive.tables.contains(child)) break;
      const std::size_t first = naive.first(owner);
      const std::size_t places = (have - first) * pool.options().page_size;
      if (places == 0) break;
      const auto shared =
          static_cast<std::uint32_t>(first * pool.options().page_size + 1 + dice() % places);
      const auto from =
          static_cast<std::uint32_t>(first + dice() % (naive.wanted(shared) - first + 1));
      pool.fork(owner, child, shared, from);
      std::vector<PageId> expected(naive.tables[owner]);
      expected.resize(naive.wanted(shared));
      std::fill_n(expected.begin(), from, kNoPage);
      BOOST_TEST(pool.pages(child) == expected, boost::test_tools::per_element());
      take_over(naive, pool, child);
      break;
    }
    case 3: {
      if (have == 0) break;
      const auto position = static_cast<std::uint32_t>(dice() % (have * pool.options().page_size));
      const PageId page = naive.tables[owner][position / pool.options().page_size];
      if (page == kNoPage) break;
      const bool shared = naive.references(page) > 1;
      const bool expected = !shared || naive.num_free() > 0;
      std::optional<PageCopy> copy;
      BOOST_TEST(pool.make_writable(owner, position, copy) == expected);
      BOOST_TEST(copy.has_value() == (shared && expected));
      if (copy) BOOST_TEST(copy->from == page);
      if (copy) BOOST_TEST(naive.references(copy->to) == 0U);
      break;
    }
    case 4: {
      if (have == 0) break;
      const auto index = static_cast<std::uint32_t>(dice() % (have + 1));
      std::fill_n(naive.tables[owner].begin(), index, kNoPage);
      pool.release_before(owner, index);
      BOOST_TEST(pool.pages(owner) == naive.tables[owner], boost::test_tools::per_element());
      break;
    }
    default:
      pool.truncate(owner, tokens - 1);
      BOOST_TEST(pool.pages(owner).size() == std::min(have, naive.wanted(tokens - 1)));
  }
  take_over(naive, pool, owner);
}

BOOST_AUTO_TEST_CASE(agrees_with_a_naive_model) {
  for (const std::uint32_t page_size : {1U, 4U, 16U}) {
    std::mt19937 dice(page_size);
    const KvPoolOptions options{16, page_size};
    KvPool pool(options);
    NaivePool naive(options);
    for (int step = 0; step < 20000; ++step) {
      random_step(pool, naive, dice);
      pool.check();
      BOOST_REQUIRE(pool.num_free() == naive.num_free());
      BOOST_REQUIRE(pool.num_held() == naive.held().size());
      BOOST_REQUIRE(pool.num_owners() == naive.tables.size());
    }
  }
}

BOOST_AUTO_TEST_CASE(growth_is_all_or_nothing) {
  KvPool pool({4, 16});
  BOOST_TEST(pool.grow(1, 33));
  BOOST_TEST(pool.num_free() == 1U);
  BOOST_TEST(!pool.grow(2, 17));
  BOOST_TEST(pool.pages(2).empty());
  BOOST_TEST(pool.num_free() == 1U);
  BOOST_TEST(pool.grow(1, 10));  // Smaller: tables never shrink here.
  BOOST_TEST(pool.pages(1).size() == 3U);
  BOOST_TEST(pool.pages_for(0) == 0U);
  BOOST_TEST(pool.pages_for(16) == 1U);
  BOOST_TEST(pool.pages_for(17) == 2U);
}

BOOST_AUTO_TEST_CASE(a_shared_page_is_copied_before_it_is_written) {
  KvPool pool({4, 4});
  BOOST_TEST(pool.grow(1, 6));
  pool.fork(1, 2, 6);
  std::optional<PageCopy> copy;
  BOOST_TEST(pool.make_writable(2, 6, copy));
  BOOST_REQUIRE(copy.has_value());
  BOOST_TEST(copy->from == pool.pages(1)[1]);
  BOOST_TEST(copy->to == pool.pages(2)[1]);
  BOOST_TEST(pool.make_writable(1, 6, copy));
  BOOST_TEST(!copy.has_value());
  BOOST_TEST(pool.references(pool.pages(1)[0]) == 2U);
  pool.release(1);
  pool.check();
  BOOST_TEST(pool.num_held() == 2U);
}

BOOST_AUTO_TEST_CASE(
    a_page_given_back_early_is_found_by_its_name_and_attached_without_those_before) {
  KvPool pool({4, 4});
  BOOST_TEST(pool.grow(1, 12));
  for (std::uint32_t i = 0; i < 3; ++i) pool.name(1, i, 100 + i);
  const PageId last = pool.pages(1)[2];
  pool.release_before(1, 2);
  pool.name(1, 0, 200);  // Nothing is there to be named.
  BOOST_TEST(!pool.has(200));
  BOOST_TEST(pool.has(100));
  BOOST_TEST(pool.num_cached() == 2U);
  const std::vector<tickertape::PageName> names{102};
  pool.attach(2, names, 2);
  BOOST_TEST(pool.pages(2) == std::vector<PageId>({kNoPage, kNoPage, last}),
             boost::test_tools::per_element());
  BOOST_TEST(pool.references(last) == 2U);
  BOOST_TEST(pool.grow(2, 16));
  pool.check();
  // The tail of what was given back goes first.
  BOOST_TEST(pool.grow(3, 4));
  BOOST_TEST(pool.has(100));
  BOOST_TEST(!pool.has(101));
  pool.truncate(2, 4);
  BOOST_TEST(pool.pages(2).size() == 1U);
  BOOST_TEST(pool.release(2) == 0U);
  BOOST_TEST(pool.release(1) == 1U);
  pool.check();
}

}  // namespace
