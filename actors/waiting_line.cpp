// WaitingLine: sequences that wait for pages, in the order in which they are looked at.
#include "actors/waiting_line.hpp"

#include <algorithm>
#include <iterator>

#include <tickertape/assert.hpp>

namespace tickertape::actors {

WaitingLine::WaitingLine(bool shares_by_client) : shares_by_client_(shares_by_client) {}

WaitingLine::Turn WaitingLine::turn_of(const Clients::value_type& client) {
  return {client.second.served, *client.second.line.begin(), client.first};
}

/// Takes a client into the order to which it belongs: of those that wait, or of those ahead.
void WaitingLine::enter(const Clients::value_type& client) {
  if (client.second.line.empty()) {
    ahead_.emplace(client.second.served, client.first);
  } else {
    turns_.insert(turn_of(client));
  }
}

void WaitingLine::leave(const Clients::value_type& client) {
  if (client.second.line.empty()) {
    ahead_.erase({client.second.served, client.first});
  } else {
    turns_.erase(turn_of(client));
  }
}

void WaitingLine::raise_least() {
  if (!turns_.empty()) {
    TICKERTAPE_ASSERT(turns_.begin()->served >= least_);
    least_ = turns_.begin()->served;
  }
  while (!ahead_.empty() && ahead_.begin()->first <= least_) {
    clients_.erase(ahead_.begin()->second);
    ahead_.erase(ahead_.begin());
  }
}

void WaitingLine::insert(const Entry& entry) {
  const bool is_new = entries_.emplace(entry.id, entry).second;
  TICKERTAPE_ASSERT(is_new);
  const auto [client, is_unknown] = clients_.try_emplace(client_of(entry), Client{least_, {}});
  if (!is_unknown) leave(*client);
  client->second.line.insert(place_of(entry));
  enter(*client);
  raise_least();
}

void WaitingLine::erase(SequenceId id) {
  const auto found = entries_.find(id);
  TICKERTAPE_ASSERT(found != entries_.end());
  const auto client = clients_.find(client_of(found->second));
  leave(*client);
  client->second.line.erase(place_of(found->second));
  enter(*client);
  entries_.erase(found);
  if (turns_.empty()) last_left_ = client->first;  // It waited alone: least_ is its own.
  raise_least();
}

bool WaitingLine::contains(SequenceId id) const {
  return entries_.contains(id);
}

std::size_t WaitingLine::size() const noexcept {
  return entries_.size();
}

std::optional<SequenceId> WaitingLine::first() const {
  if (turns_.empty()) return std::nullopt;
  return turns_.begin()->head.id;
}

std::optional<SequenceId> WaitingLine::after(SequenceId id) const {
  const auto found = entries_.find(id);
  TICKERTAPE_ASSERT(found != entries_.end());
  const auto client = clients_.find(client_of(found->second));
  const auto& line = client->second.line;
  if (const auto next = std::next(line.find(place_of(found->second))); next != line.end()) {
    return next->id;
  }
  if (const auto next = turns_.upper_bound(turn_of(*client)); next != turns_.end()) {
    return next->head.id;
  }
  return std::nullopt;
}

void WaitingLine::charge(std::uint64_t client, std::uint64_t tokens) {
  if (!shares_by_client_ || tokens == 0) return;
  const auto weight = weights_.find(client);
  const Served added = (Served{tokens} << 32) / (weight == weights_.end() ? 1 : weight->second);
  if (turns_.empty() && client == last_left_) {
    least_ += added;
    raise_least();
    return;
  }
  // Somebody who is not remembered has been served as much as the least that waits, at most.
  const auto [found, is_unknown] = clients_.try_emplace(client, Client{least_, {}});
  if (!is_unknown) leave(*found);
  found->second.served += added;
  enter(*found);
  raise_least();
}

void WaitingLine::set_weight(std::uint64_t client, std::uint32_t weight) {
  TICKERTAPE_ASSERT(weight > 0);
  if (weight == 1) {
    weights_.erase(client);
  } else {
    weights_[client] = weight;
  }
}

std::size_t WaitingLine::num_clients() const noexcept {
  return shares_by_client_ ? clients_.size() : 0;
}

}  // namespace tickertape::actors
