// WaitingLine: sequences that wait for pages, in the order in which they are looked at.
#pragma once
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include <tickertape/kv_pool.hpp>

namespace tickertape::actors {

/// By rank, then arrival. With clients that take turns, the client that was served least is first,
/// after the virtual token counter of Sheng et al., "Fairness in Serving Large Language Models"
/// (2024): a client that comes back is lifted to the least among those who wait, so that nobody
/// saves up. When nobody waits, that is what the last one that left the line was served.
///
/// Insertion, removal and the first are O(log n): the cost of a plan does not grow with the line.
/// A plain value in integers; order does not depend on addresses or hash seeds.
class WaitingLine {
 public:
  struct Entry {
    SequenceId id = 0;
    std::int64_t rank = 0;
    std::uint64_t arrival = 0;
    std::uint64_t client = 0;  ///< Used when clients take turns.
  };

  explicit WaitingLine(bool shares_by_client);

  /// REQUIRES: it is not in the line.
  void insert(const Entry& entry);
  /// REQUIRES: it is in the line.
  void erase(SequenceId id);
  [[nodiscard]] bool contains(SequenceId id) const;
  [[nodiscard]] std::size_t size() const noexcept;

  [[nodiscard]] std::optional<SequenceId> first() const;
  /// The next one in the present order; none after the last. REQUIRES: `id` is in the line.
  /// With clients that take turns: the others of its client, then those of the next client.
  [[nodiscard]] std::optional<SequenceId> after(SequenceId id) const;

  /// Counts work done for a client, divided by its weight: a prompt's tokens when it is admitted,
  /// twice the tokens generated (the paper's weights). No effect unless clients take turns.
  void charge(std::uint64_t client, std::uint64_t tokens);
  /// From 1 on, default 1: twice the weight, twice the service.
  void set_weight(std::uint64_t client, std::uint32_t weight);
  /// Clients that are remembered: those that wait, and those ahead of the least that waits. 0
  /// unless clients take turns.
  [[nodiscard]] std::size_t num_clients() const noexcept;

 private:
  __extension__ using Served = unsigned __int128;  ///< Tokens over weight, times 2^32.

  struct Place {
    std::int64_t rank = 0;
    std::uint64_t arrival = 0;
    SequenceId id = 0;
    friend auto operator<=>(const Place&, const Place&) = default;
  };
  struct Client {
    Served served = 0;
    std::set<Place> line;
  };
  /// A client that waits. Those that were served the same: by their first sequence.
  struct Turn {
    Served served = 0;
    Place head;
    std::uint64_t client = 0;
    friend auto operator<=>(const Turn&, const Turn&) = default;
  };
  using Clients = std::unordered_map<std::uint64_t, Client>;

  [[nodiscard]] std::uint64_t client_of(const Entry& entry) const noexcept {
    return shares_by_client_ ? entry.client : 0;
  }
  static Place place_of(const Entry& entry) noexcept {
    return {entry.rank, entry.arrival, entry.id};
  }
  static Turn turn_of(const Clients::value_type& client);
  void enter(const Clients::value_type& client);
  void leave(const Clients::value_type& client);
  void raise_least();

  bool shares_by_client_;
  std::unordered_map<SequenceId, Entry> entries_;
  Clients clients_;
  std::set<Turn> turns_;
  std::set<std::pair<Served, std::uint64_t>> ahead_;  ///< Remembered clients that do not wait.
  Served least_ = 0;             ///< What the least that waits was served. Never falls.
  std::uint64_t last_left_ = 0;  ///< When nobody waits: who left last. least_ is its own.
  std::unordered_map<std::uint64_t, std::uint32_t> weights_;  ///< Other than 1.
};

}  // namespace tickertape::actors
