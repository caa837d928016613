// run_request: one request in a program that does nothing else.
#pragma once
#include <functional>
#include <tickertape/engine.hpp>
#include <vector>

namespace tickertape::program {

struct Answer {
  Accepted accepted;
  std::vector<Token> tokens;
  Finish finish;
};

/// Runs `request` to its end and calls `on_token` for each token as it comes. Throws Error when it
/// is refused or fails.
[[nodiscard]] Answer run_request(Engine& engine, Request request,
                                 const std::function<void(const Token&)>& on_token = {});

}  // namespace tickertape::program
