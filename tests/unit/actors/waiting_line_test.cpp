// WaitingLine against a list that is sorted anew each time.
#include "actors/waiting_line.hpp"

#include <rapidcheck.h>
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <map>
#include <tuple>
#include <vector>

namespace {

using tickertape::SequenceId;
using tickertape::actors::WaitingLine;

/// The same line, kept the slow way. What clients were served counts in sixteenths of a token:
/// weights are 1, 2, 4, 8, 16, so that neither rounds.
class NaiveLine {
 public:
  explicit NaiveLine(bool shares) : shares_(shares) {}

  std::vector<SequenceId> order() const {
    auto sorted = entries;
    std::ranges::sort(sorted, {}, [&](const WaitingLine::Entry& entry) {
      const std::uint64_t client = shares_ ? entry.client : 0;
      return std::tuple(served_by(client), head_of(client), entry.rank, entry.arrival, entry.id);
    });
    std::vector<SequenceId> ids;
    for (const auto& entry : sorted) ids.push_back(entry.id);
    return ids;
  }
  void insert(const WaitingLine::Entry& entry) {
    entries.push_back(entry);
    settle();
  }
  void erase(SequenceId id) {
    const auto place = std::ranges::find(entries, id, &WaitingLine::Entry::id);
    last_left_ = place->client;
    entries.erase(place);
    if (entries.empty()) least_ = served_by(last_left_);
    settle();
  }
  void charge(std::uint64_t client, std::uint64_t tokens) {
    if (!shares_) return;
    served_[client] = served_by(client) + tokens * (16 / weight_of(client));
    if (entries.empty() && client == last_left_) least_ = served_[client];
    settle();
  }
  std::size_t num_clients() const {
    if (!shares_) return 0;
    return static_cast<std::size_t>(std::ranges::count_if(clients, [&](std::uint64_t client) {
      return waits(client) || served_by(client) > least_;
    }));
  }

  std::vector<WaitingLine::Entry> entries;
  std::map<std::uint64_t, std::uint32_t> weights;
  const std::vector<std::uint64_t> clients{0, 1, 2, 3, 4};

 private:
  std::uint32_t weight_of(std::uint64_t client) const {
    return weights.contains(client) ? weights.at(client) : 1;
  }
  bool waits(std::uint64_t client) const {
    return std::ranges::count(entries, client, &WaitingLine::Entry::client) > 0;
  }
  /// Nobody lags the least that waits: who is not there, or comes back, is lifted to it.
  std::uint64_t served_by(std::uint64_t client) const {
    return std::max(least_, served_.contains(client) ? served_.at(client) : 0);
  }
  std::tuple<std::int64_t, std::uint64_t, SequenceId> head_of(std::uint64_t client) const {
    std::tuple<std::int64_t, std::uint64_t, SequenceId> head{INT64_MAX, 0, 0};
    for (const auto& entry : entries) {
      if (shares_ && entry.client != client) continue;
      head = std::min(head, std::tuple(entry.rank, entry.arrival, entry.id));
    }
    return head;
  }
  void settle() {
    if (entries.empty() || !shares_) return;
    std::uint64_t least = UINT64_MAX;
    for (const auto& entry : entries) least = std::min(least, served_by(entry.client));
    least_ = least;
  }

  bool shares_;
  std::map<std::uint64_t, std::uint64_t> served_;
  std::uint64_t least_ = 0;
  std::uint64_t last_left_ = 0;
};

std::vector<SequenceId> walk(const WaitingLine& line) {
  std::vector<SequenceId> ids;
  for (auto id = line.first(); id; id = line.after(*id)) ids.push_back(*id);
  return ids;
}

void agree(bool shares) {
  struct Step {
    int what, client, amount;
  };
  const auto steps = *rc::gen::container<std::vector<Step>>(rc::gen::construct<Step>(
      rc::gen::inRange(0, 9), rc::gen::inRange(0, 5), rc::gen::inRange(0, 100)));
  WaitingLine line(shares);
  NaiveLine naive(shares);
  SequenceId next = 1;
  for (const Step& step : steps) {
    const auto client = static_cast<std::uint64_t>(step.client);
    const auto amount = static_cast<std::uint64_t>(step.amount);
    if (step.what < 3) {
      const WaitingLine::Entry entry{next, step.amount % 4 - 2, next / 2, client};
      ++next;
      line.insert(entry);
      naive.insert(entry);
    } else if (step.what < 5 && !naive.entries.empty()) {
      const SequenceId id = naive.entries[amount % naive.entries.size()].id;
      RC_ASSERT(line.contains(id));
      line.erase(id);
      naive.erase(id);
      RC_ASSERT(!line.contains(id));
    } else if (step.what < 8) {
      line.charge(client, amount);
      naive.charge(client, amount);
    } else {
      const std::uint32_t weight = 1U << (amount % 5);
      line.set_weight(client, weight);
      naive.weights[client] = weight;
    }
    RC_ASSERT(walk(line) == naive.order());
    RC_ASSERT(line.size() == naive.entries.size());
    RC_ASSERT(line.num_clients() == naive.num_clients());
  }
}

BOOST_AUTO_TEST_SUITE(waiting_line)

BOOST_AUTO_TEST_CASE(agrees_with_a_sorted_list) {
  BOOST_TEST(rc::check("the order is by rank and arrival", [] { agree(false); }));
  BOOST_TEST(rc::check("the order is by what clients were served", [] { agree(true); }));
}

/// Serves `total` tokens, 10 at a time, to whoever is first; each client always has more to do.
std::map<std::uint64_t, std::uint64_t> serve(WaitingLine& line,
                                             const std::vector<std::uint64_t>& clients,
                                             std::uint64_t total) {
  std::map<SequenceId, std::uint64_t> owner;
  std::map<std::uint64_t, std::uint64_t> served;
  SequenceId next = 1;
  const auto come = [&](std::uint64_t client) {
    owner[next] = client;
    line.insert({next, static_cast<std::int64_t>(next), next, client});
    ++next;
  };
  for (const std::uint64_t client : clients) {
    for (int i = 0; i < 3; ++i) come(client);
  }
  for (std::uint64_t done = 0; done < total; done += 10) {
    const SequenceId id = line.first().value();
    const std::uint64_t client = owner[id];
    line.erase(id);
    line.charge(client, 10);
    served[client] += 10;
    come(client);
  }
  return served;
}

BOOST_AUTO_TEST_CASE(clients_get_service_by_their_weights) {
  WaitingLine line(true);
  line.set_weight(2, 2);
  line.set_weight(3, 3);
  auto served = serve(line, {1, 2, 3}, 6000);
  BOOST_TEST(std::abs(static_cast<double>(served[1]) - 1000) <= 20);
  BOOST_TEST(std::abs(static_cast<double>(served[2]) - 2000) <= 20);
  BOOST_TEST(std::abs(static_cast<double>(served[3]) - 3000) <= 20);
}

BOOST_AUTO_TEST_CASE(a_client_that_was_away_saves_nothing_up) {
  WaitingLine line(true);
  line.insert({1, 0, 1, 7});
  line.charge(7, 1'000'000);
  line.insert({2, 0, 2, 8});  // Never served; lifted to 7's million.
  line.charge(8, 1);
  BOOST_TEST(line.first().value() == 1U);
  line.charge(7, 2);
  BOOST_TEST(line.first().value() == 2U);
  BOOST_TEST(line.after(2).value() == 1U);
  BOOST_TEST(!line.after(1));
}

BOOST_AUTO_TEST_CASE(when_nobody_waits_what_the_last_one_was_served_counts) {
  WaitingLine line(true);
  line.insert({1, 0, 1, 7});
  line.erase(1);
  line.charge(7, 500);
  line.insert({2, 0, 2, 8});
  line.insert({3, 0, 3, 7});
  BOOST_TEST(line.first().value() == 2U);  // The same for both: the one that came first.
  line.charge(8, 1);
  BOOST_TEST(line.first().value() == 3U);
}

BOOST_AUTO_TEST_CASE(clients_that_went_away_are_forgotten) {
  WaitingLine line(true);
  for (SequenceId id = 1; id <= 10'000; ++id) {
    line.insert({id, 0, id, id});
    line.charge(id, 10);
    if (id > 3) line.erase(id - 3);
    BOOST_REQUIRE(line.num_clients() <= 8U);
  }
}

BOOST_AUTO_TEST_CASE(huge_amounts_do_not_overflow) {
  WaitingLine line(true);
  line.insert({1, INT64_MAX, 1, 1});
  line.insert({2, INT64_MIN, 2, 2});
  for (int i = 0; i < 1000; ++i) line.charge(1, UINT64_MAX);
  BOOST_TEST(line.first().value() == 2U);
  for (int i = 0; i < 1001; ++i) line.charge(2, UINT64_MAX);
  BOOST_TEST(line.first().value() == 1U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
