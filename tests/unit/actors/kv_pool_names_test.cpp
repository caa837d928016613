// KvPool with names, against a naive model: what is cached, what is found again, what makes room
// and in which order.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <map>
#include <random>
#include <set>
#include <vector>

#include <tickertape/kv_pool.hpp>

namespace {

using namespace tickertape;

constexpr std::uint32_t kNumPages = 14;
constexpr std::uint32_t kNumOwners = 6;
constexpr std::size_t kMostPages = 8;  ///< Of a table.

/// Three chains of contents: owners of one family have the same at the same place.
PageName name_at(SequenceId owner, std::size_t index) {
  return 1 + (owner % 3) * kMostPages + index;
}

/// The book kept the slow way: everything is counted anew from tables, names and one list.
class NaivePool {
 public:
  std::map<SequenceId, std::vector<PageId>> tables;
  std::map<PageId, PageName> names;
  std::vector<PageId> cached;  ///< That nobody holds, the one held longest ago first.
  std::set<PageName> known;    ///< As told by added and dropped names.
  std::uint64_t num_evicted = 0;

  [[nodiscard]] std::uint32_t references(PageId page) const {
    std::uint32_t count = 0;
    for (const auto& [owner, table] : tables) {
      count += static_cast<std::uint32_t>(std::count(table.begin(), table.end(), page));
    }
    return count;
  }
  [[nodiscard]] std::uint32_t num_held() const {
    std::set<PageId> pages;
    for (const auto& [owner, table] : tables) pages.insert(table.begin(), table.end());
    return static_cast<std::uint32_t>(pages.size());
  }
  [[nodiscard]] std::uint32_t num_free() const {
    return kNumPages - num_held() - static_cast<std::uint32_t>(cached.size());
  }
  [[nodiscard]] std::optional<PageId> find(PageName name) const {
    for (const auto& [page, its_name] : names) {
      if (its_name == name) return page;
    }
    return std::nullopt;
  }
  [[nodiscard]] std::size_t size_of(SequenceId owner) const {
    const auto found = tables.find(owner);
    return found == tables.end() ? 0 : found->second.size();
  }

  /// The pool gave this page: a free one while there are any, then the one cached longest.
  void take(SequenceId owner, std::size_t index, PageId page) {
    if (num_free() > 0) {
      BOOST_REQUIRE(references(page) == 0U);
      BOOST_REQUIRE(std::find(cached.begin(), cached.end(), page) == cached.end());
    } else {
      BOOST_REQUIRE(page == cached.front());
      cached.erase(cached.begin());
      names.erase(page);
      ++num_evicted;
    }
    auto& table = tables[owner];
    if (index == table.size()) table.push_back(0);
    table[index] = page;
  }
  /// Nobody may hold it any more.
  void dropped(PageId page) {
    if (references(page) == 0 && names.contains(page)) cached.push_back(page);
  }
  void shorten(SequenceId owner, std::size_t size) {
    auto& table = tables[owner];
    while (table.size() > size) {
      const PageId page = table.back();
      table.pop_back();
      dropped(page);
    }
    if (table.empty()) tables.erase(owner);
  }
};

/// One pool and its model, and everything that can be done to them.
class Both {
 public:
  Both(std::uint32_t page_size, unsigned seed)
      : pool_(KvPoolOptions{kNumPages, page_size}), page_size_(page_size), dice_(seed) {}

  void step() {
    const SequenceId owner = dice_() % kNumOwners;
    switch (dice_() % 8) {
      case 0:
      case 1:
        return grow(owner);
      case 2:
        naive_.shorten(owner, 0);
        pool_.release(owner);
        return;
      case 3:
        return fork(owner);
      case 4:
        return make_writable(owner);
      case 5:
        return name(owner);
      case 6:
        return attach(owner);
      default:
        const std::size_t keep = dice_() % (naive_.size_of(owner) + 1);
        naive_.shorten(owner, keep);
        pool_.truncate(owner, tokens_in(keep));
    }
  }

  void compare() {
    pool_.check();
    BOOST_REQUIRE(pool_.num_free() == naive_.num_free());
    BOOST_REQUIRE(pool_.num_cached() == naive_.cached.size());
    BOOST_REQUIRE(pool_.num_held() == naive_.num_held());
    BOOST_REQUIRE(pool_.num_owners() == naive_.tables.size());
    for (PageId page = 0; page < kNumPages; ++page) {
      const auto found = naive_.names.find(page);
      BOOST_REQUIRE(pool_.name_of(page) == (found == naive_.names.end() ? 0 : found->second));
      BOOST_REQUIRE(pool_.references(page) == naive_.references(page));
    }
    for (const auto& [owner, table] : naive_.tables) {
      BOOST_TEST_REQUIRE(pool_.pages(owner) == table, boost::test_tools::per_element());
    }
    // What it tells of its names adds up to them.
    const KvPool::NameChanges changes = pool_.take_name_changes();
    std::multiset<PageName> told(naive_.known.begin(), naive_.known.end());
    told.insert(changes.added.begin(), changes.added.end());
    for (const PageName name : changes.dropped) {
      BOOST_REQUIRE(told.contains(name));
      told.erase(told.find(name));
    }
    naive_.known.clear();
    for (const auto& [page, name] : naive_.names) naive_.known.insert(name);
    const std::multiset<PageName> expected(naive_.known.begin(), naive_.known.end());
    BOOST_REQUIRE((told == expected));
  }

  [[nodiscard]] const NaivePool& naive() const { return naive_; }
  std::uint64_t num_hits = 0;          ///< Pages found by name,
  std::uint64_t num_cached_hits = 0;   ///< of them such as nobody held,
  std::uint64_t num_partial_hits = 0;  ///< and look-ups that found some and not all.

 private:
  [[nodiscard]] std::uint32_t tokens_in(std::size_t num_pages) {
    if (num_pages == 0) return 0;
    return static_cast<std::uint32_t>(num_pages * page_size_ - dice_() % page_size_);
  }

  void grow(SequenceId owner) {
    const std::size_t have = naive_.size_of(owner);
    const std::size_t wanted = 1 + dice_() % kMostPages;
    const std::size_t more = wanted > have ? wanted - have : 0;
    const bool fits = more <= naive_.num_free() + naive_.cached.size();
    BOOST_REQUIRE(pool_.grow(owner, tokens_in(wanted)) == fits);
    if (!fits) return;
    const auto pages = pool_.pages(owner);
    for (std::size_t i = have; i < have + more; ++i) naive_.take(owner, i, pages[i]);
  }

  void fork(SequenceId owner) {
    const SequenceId child = kNumOwners + owner % 3;  // Of the same family.
    const std::size_t have = naive_.size_of(owner);
    if (have == 0 || naive_.tables.contains(child)) {
      naive_.shorten(child, 0);
      pool_.release(child);
      return;
    }
    const std::size_t shared = 1 + dice_() % have;
    pool_.fork(owner, child, tokens_in(shared));
    const auto& table = naive_.tables[owner];
    naive_.tables[child].assign(table.begin(), table.begin() + static_cast<std::ptrdiff_t>(shared));
  }

  void make_writable(SequenceId owner) {
    const std::size_t have = naive_.size_of(owner);
    if (have == 0) return;
    const std::size_t index = dice_() % have;
    const PageId page = naive_.tables[owner][index];
    const bool is_own = naive_.references(page) == 1 && !naive_.names.contains(page);
    const bool can = is_own || naive_.num_free() + naive_.cached.size() > 0;
    std::optional<PageCopy> copy;
    BOOST_REQUIRE(pool_.make_writable(owner, tokens_in(index + 1) - 1, copy) == can);
    BOOST_REQUIRE(copy.has_value() == (can && !is_own));
    if (!copy) return;
    BOOST_REQUIRE(copy->from == page);
    naive_.take(owner, index, copy->to);
    naive_.dropped(page);
  }

  void name(SequenceId owner) {
    const std::size_t have = naive_.size_of(owner);
    if (have == 0) return;
    // All from the first on, as they are computed; or one anywhere.
    const std::size_t last = dice_() % have;
    for (std::size_t index = dice_() % 3 == 0 ? last : 0; index <= last; ++index) {
      // Sometimes another one than the page may have already.
      const PageName name = name_at(dice_() % 16 == 0 ? owner + 1 : owner, index);
      pool_.name(owner, static_cast<std::uint32_t>(index), name);
      const PageId page = naive_.tables[owner][index];
      // The page keeps the name that it has, and the name its page.
      if (!naive_.names.contains(page) && !naive_.find(name)) naive_.names[page] = name;
    }
  }

  void attach(SequenceId owner) {
    if (naive_.tables.contains(owner)) return;
    const std::size_t count = 1 + dice_() % kMostPages;
    std::vector<PageName> names;
    for (std::size_t i = 0; i < count; ++i) names.push_back(name_at(owner, i));
    const KvPool::Match match = pool_.match(names);
    std::vector<PageId> pages;
    std::uint32_t num_cached = 0;
    for (const PageName name : names) {
      const auto page = naive_.find(name);
      if (!page) break;
      pages.push_back(*page);
      num_cached += naive_.references(*page) == 0 ? 1 : 0;
    }
    BOOST_REQUIRE(match.num_pages == pages.size());
    BOOST_REQUIRE(match.num_cached == num_cached);
    num_hits += pages.size();
    num_cached_hits += num_cached;
    num_partial_hits += !pages.empty() && pages.size() < names.size() ? 1 : 0;
    pool_.attach(owner, std::span(names).first(match.num_pages));
    if (pages.empty()) return;
    for (const PageId page : pages) std::erase(naive_.cached, page);
    naive_.tables[owner] = pages;
  }

  KvPool pool_;
  NaivePool naive_;
  std::uint32_t page_size_;
  std::mt19937 dice_;
};

BOOST_AUTO_TEST_SUITE(kv_pool_names)

BOOST_AUTO_TEST_CASE(agrees_with_a_naive_model_of_names) {
  for (const std::uint32_t page_size : {1U, 4U, 16U}) {
    for (unsigned seed = 1; seed <= 4; ++seed) {
      Both both(page_size, seed * 100 + page_size);
      for (int step = 0; step < 8000; ++step) {
        both.step();
        both.compare();
      }
      // The rare things did happen.
      BOOST_TEST(both.num_hits > 200U);
      BOOST_TEST(both.num_cached_hits > 50U);
      BOOST_TEST(both.num_partial_hits > 50U);
      BOOST_TEST(both.naive().num_evicted > 300U);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
