// on_small_stack(): runs a function where a stack that grows with its input ends the process.
#pragma once
#include <pthread.h>

#include <cstddef>
#include <exception>
#include <functional>
#include <stdexcept>
#include <utility>

#include "tests/support/sanitized.hpp"

namespace tickertape::test {

/// As `ulimit -s 512`. Sanitizers put more into every frame of a call.
inline constexpr std::size_t kSmallStackBytes = kSanitized ? 2 << 20 : 512 << 10;

/// Runs `function` on a thread with a stack of kSmallStackBytes, and waits; rethrows what it threw.
inline void on_small_stack(std::function<void()> function) {
  struct Call {
    std::function<void()> function;
    std::exception_ptr error;
  } call{std::move(function), nullptr};
  const auto run = [](void* address) -> void* {
    auto& self = *static_cast<Call*>(address);
    try {
      self.function();
    } catch (...) {
      self.error = std::current_exception();
    }
    return nullptr;
  };
  pthread_attr_t attributes;
  pthread_t thread{};
  bool created = ::pthread_attr_init(&attributes) == 0;
  if (created) {
    created = ::pthread_attr_setstacksize(&attributes, kSmallStackBytes) == 0 &&
              ::pthread_create(&thread, &attributes, run, &call) == 0;
    ::pthread_attr_destroy(&attributes);
  }
  if (!created) throw std::runtime_error("no thread with a small stack could be made");
  ::pthread_join(thread, nullptr);
  if (call.error) std::rethrow_exception(call.error);
}

}  // namespace tickertape::test
