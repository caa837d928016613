// Recorded: everything that the choices of a request gave, to compare bit by bit.
#pragma once
#include <boost/asio/as_tuple.hpp>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "tests/support/engine_fixture.hpp"

namespace tickertape::test {

struct Recorded {
  std::map<std::uint32_t, std::vector<Token>> choices;
  Finish finish;
  error_code error;  ///< Of a refusal; finish.error then says more.

  [[nodiscard]] const std::vector<Token>& tokens(std::uint32_t choice = 0) const {
    return choices.at(choice);
  }
  [[nodiscard]] std::vector<TokenId> ids(std::uint32_t choice = 0) const {
    std::vector<TokenId> ids;
    if (!choices.contains(choice)) return ids;
    for (const Token& token : choices.at(choice)) ids.push_back(token.id);
    return ids;
  }
};

inline bool same_tokens(const std::vector<Token>& a, const std::vector<Token>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const bool same = a[i].id == b[i].id && a[i].text == b[i].text &&
                      a[i].logprob == b[i].logprob && a[i].top_logprobs == b[i].top_logprobs;
    if (!same) return false;
  }
  return true;
}

inline bool same_tokens(const Recorded& a, const Recorded& b) {
  if (a.choices.size() != b.choices.size()) return false;
  for (const auto& [index, tokens] : a.choices) {
    if (!b.choices.contains(index) || !same_tokens(tokens, b.choices.at(index))) return false;
  }
  return true;
}

/// Submits and reads to the end. `out` outlives the coroutine.
inline asio::awaitable<void> record(Engine& engine, Request request, Recorded& out) {
  auto [error, stream] =
      co_await engine.async_submit(std::move(request), asio::as_tuple(asio::use_awaitable));
  out.error = error;
  while (!error) {
    std::optional<Token> token = co_await stream.async_next(asio::use_awaitable);
    if (!token) break;
    const std::uint32_t index = token->index;
    out.choices[index].push_back(std::move(*token));
  }
  out.finish = stream.finish();
}

/// All at the same time.
inline std::deque<Recorded> record_together(Engine& engine, const std::vector<Request>& requests) {
  asio::io_context io;
  std::deque<Recorded> all(requests.size());
  for (std::size_t i = 0; i < requests.size(); ++i) {
    asio::co_spawn(io, record(engine, requests[i], all[i]), rethrow);
  }
  io.run();
  return all;
}

inline Recorded record_alone(Engine& engine, const Request& request) {
  return record_together(engine, {request}).front();
}

}  // namespace tickertape::test
